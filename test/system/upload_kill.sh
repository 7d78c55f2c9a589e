#!/bin/bash
# kill -9 at random times, while the store is unavailable: all finished reports, and the unfinished ones, arrive with
# the next programs, each once, though two of them start at the same time.
#
# KILLS (20) programs are killed.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
KILLS=${KILLS:-20}
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I"$here/../.." -O2 -o "$work/flushes" \
	"$here/../programs/flushes.c" || fail "cannot build"

port=$(free_port)
url=http://127.0.0.1:$port
export AWS_ACCESS_KEY_ID=$access AWS_SECRET_ACCESS_KEY=$secret AWS_REGION=us-east-1 \
	AWS_EC2_METADATA_DISABLED=true ASPROF_AGENT_S3_BUCKET=reports \
	ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_START_DELAY=0 \
	ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_PROFILING_GROUP=killed
for _ in $(seq "$KILLS"); do
	LD_PRELOAD=$preload ASPROF_AGENT_LOG=off "$work/flushes" >"$work/taken" &
	victim=$!
	until_true [ -s "$work/taken" ] || fail "it makes no reports"
	sleep "0.$((RANDOM % 400 + 100))"
	kill -9 $victim
	wait $victim 2>/dev/null
	printf '%d %d\n' $victim "$(tail -n 1 "$work/taken")" >>"$work/victims"
done
left=$(find "$work/spool" -name '*.jfr' | wc -l)

store
for _ in 1 2; do
	profiled 3 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_EXIT_TIMEOUT=30s &
	heirs+=($!)
done
wait "${heirs[@]}" || fail "an heir failed"

[ "$(find "$work/spool" -name '*.jfr' | wc -l)" -eq 0 ] || fail "left: $(ls -A "$work/spool")"
[ -z "$(refused)" ] || fail "refused: $(refused)"
twice=$(sed 's/.* //' "$work/objects.log" | sort | uniq -d)
[ -z "$twice" ] || fail "sent twice: $twice"
# Only the reports that were reported to the program are counted. One more may have been finished. The running
# recording is recovered, if it has a sample.
list >"$work/arrived"
while read -r pid taken; do
	arrived=$(grep -c "^profile_killed_unknown___${pid}_" "$work/arrived")
	[ "$arrived" -ge "$taken" ] && [ "$arrived" -le $((taken + 2)) ] ||
		fail "of $pid arrived $arrived, it made $taken"
done <"$work/victims"
/usr/bin/python3 - "$work/objects" <<-'END' || fail "not every object is whole"
	import os, sys, zipfile
	for name in os.listdir(sys.argv[1]):
	    assert zipfile.ZipFile(os.path.join(sys.argv[1], name)).testzip() is None, name
END
echo "$KILLS times killed: $left reports in the spool, $(wc -l <"$work/arrived") arrived, none twice"
