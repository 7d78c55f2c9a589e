#!/bin/bash
# Two services with their own stores share a spool. Each delivers only the reports for its own store, including those
# of earlier processes. The metadata of a report is that of the process that made it.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"

# service NAME SECONDS GENERATION: its store need not be available.
service() {
	profiled "$2" ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_S3_PREFIX="$1-" \
		ASPROF_AGENT_S3_ENDPOINT="http://127.0.0.1:${ports[$1]}" POD_NAME="$1-$3" \
		ASPROF_AGENT_PROFILING_GROUP="$1$3" ASPROF_AGENT_TAGS="generation=$3" \
		ASPROF_AGENT_LOG_FILE="$work/$1.$3.log" ASPROF_AGENT_EXIT_TIMEOUT="${4:-30s}"
}
# store_of NAME: that service's, with its objects in its own folder.
store_of() {
	mkdir -p "$work/$1"
	work=$work/$1 port=${ports[$1]} store
}
left() {
	find "$work/spool" -name "*.jfr" | wc -l
}
export url=
declare -A ports
ports[one]=$(free_port) ports[two]=$(free_port)

service one 2.5 first 1s &
jobs=($!)
service two 2.5 first 1s &
jobs+=($!)
wait "${jobs[@]}" || fail "a service failed"
of_one=$(grep -l '"group":"onefirst"' "$work"/spool/*.json | wc -l)
of_two=$(grep -l '"group":"twofirst"' "$work"/spool/*.json | wc -l)
[ "$of_one" -ge 2 ] && [ "$of_two" -ge 2 ] || fail "left of one $of_one, of two $of_two"
[ "$(left)" -eq $((of_one + of_two)) ] || fail "left: $(ls "$work/spool")"
! grep -q "$secret" "$work"/spool/*.json || fail "a note holds a secret"

# expect NAME COUNT: so many of the first generation arrived there, and none of the other service.
expect() {
	/usr/bin/python3 - "$work/$1/objects" "$1" "$2" <<-'END' || fail "what arrived is not $1's"
		import json, os, sys, zipfile
		at, name, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
		first = 0
		for entry in os.listdir(at):
		    zip = zipfile.ZipFile(os.path.join(at, entry))
		    assert zip.testzip() is None
		    agent = json.loads(zip.read('metadata.json'))['agent']
		    generation = agent['tags']['generation']
		    assert entry.startswith('%s-profile_%s%s_' % (name, name, generation)), entry
		    assert agent['kubernetes'] == {'pod': '%s-%s' % (name, generation)}, agent
		    first += generation == 'first'
		print('%s: %d reports arrived, %d of the first generation' % (name, len(os.listdir(at)), first))
		assert first == left and len(os.listdir(at)) > left, (first, left)
	END
}
store_of one
store_of two
service one 1.5 second
[ "$(left)" -eq "$of_two" ] || fail "left: $(ls "$work/spool")"
[ -z "$(ls "$work/two/objects")" ] || fail "to two went $(ls "$work/two/objects")"
service two 1.5 second
expect one "$of_one"
expect two "$of_two"
[ -z "$(ls -A "$work/spool")" ] || fail "left: $(ls -A "$work/spool")"
