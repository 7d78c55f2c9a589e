#!/bin/bash
# The store is unavailable for a while: every report arrives once, from memory or from a spool. If there was no room
# for all, the next report has the number of dropped ones.
#
# OUTAGE (9) is the length in seconds: long enough to fill a spool of 64 KiB on a busy machine, where a report has
# less than 10 KiB.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
OUTAGE=${OUTAGE:-9}

port=$(free_port)
export url=http://127.0.0.1:$port
# Later attempts have long pauses: the last report delivers the rest.
seconds=$((OUTAGE + OUTAGE / 4 + 4))
away() {
	profiled $seconds ASPROF_AGENT_PROFILING_GROUP="$1" ASPROF_AGENT_LOCAL_DIR="$work/$1" \
		ASPROF_AGENT_LOG_FILE="$work/$1.log" ASPROF_AGENT_EXIT_TIMEOUT=20s "${@:2}" &
	jobs+=($!)
}
away memory
away spool ASPROF_AGENT_SPOOL_DIR="$work/spools/all"
away full ASPROF_AGENT_SPOOL_DIR="$work/spools/few" ASPROF_AGENT_SPOOL_MAX_BYTES=64k \
	ASPROF_AGENT_CPU_INTERVAL=1ms
sleep "$OUTAGE"
most=$(cat "$work"/spools/few/*.jfr | wc -c)
[ "$most" -le 65536 ] || fail "a spool of 64 KiB holds $most bytes"
store
wait "${jobs[@]}" || fail "a program failed"

arrived() {
	list | grep -c "^profile_$1_"
}
made() {
	find "$work/$1" -name '*.jfr' | wc -l
}
twice=$(sed 's/.* //' "$work/objects.log" | sort | uniq -d)
[ -z "$twice" ] || fail "sent twice: $twice"
[ -z "$(refused)" ] || fail "refused: $(refused)"
for what in memory spool full; do
	cp "$work/$what.log" "$work/log"
	said 'no upload to the bucket'
	said 'work again'
	echo "$what: away for $OUTAGE s of $seconds, $(arrived $what) of $(made $what) reports arrived"
done
[ "$(made memory)" -ge "$OUTAGE" ] && [ "$(arrived memory)" -eq "$(made memory)" ] ||
	fail "not all that waited in memory"
[ "$(made spool)" -ge "$OUTAGE" ] && [ "$(arrived spool)" -eq "$(made spool)" ] ||
	fail "not all that waited in the spool"
[ -z "$(find "$work/spools" -type f)" ] || fail "the spools hold $(find "$work/spools" -type f)"

/usr/bin/python3 - "$work/objects" $(($(made full) - $(arrived full))) <<-'END' || fail "not told"
	import json, os, sys, zipfile
	at, missing = sys.argv[1], int(sys.argv[2])
	told = [json.loads(zipfile.ZipFile(os.path.join(at, name)).read('metadata.json'))['agent']
	        for name in os.listdir(at) if name.startswith('profile_full_')]
	dropped = max((agent.get('dropped', {'full': 0, 'bytes': 0}) for agent in told),
	              key=lambda d: d['full'])
	print('of %d that are missing, %s are told' % (missing, dropped))
	# No later report counts what the last report itself replaced.
	assert 0 < dropped['full'] <= missing <= dropped['full'] + 2 and dropped['bytes'] > 0
END
