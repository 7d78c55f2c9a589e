#!/bin/bash
# Fault storm: the store refuses every HEAD and fails half of the PUTs. It has stored the object of some failed PUTs. Programs
# upload from memory and from a shared spool, and some of the latter are killed. Each report arrives, under one name.
#
#   PROGRAMS=4  with a spool, and as many without
#   SECONDS_OF_STORM=15
#   SEED=1
. "$(dirname "$0")/../system/upload.inc"
. "$here/strict.inc"
programs=${PROGRAMS:-4}
seconds=${SECONDS_OF_STORM:-15}

STORE_WITH+=(--storm "${SEED:-1}")
store

# run GROUP SECONDS [NAME=VALUE…]: one program, whose reports are also kept in $work/local.
run() {
	profiled "$2" ASPROF_AGENT_PROFILING_GROUP="$1" ASPROF_AGENT_LOCAL_DIR="$work/local" \
		ASPROF_AGENT_LOG_FILE="$work/$1.log" "${@:3}"
}
spooled=(ASPROF_AGENT_SPOOL_DIR="$work/kept" ASPROF_AGENT_EXIT_TIMEOUT=2s)

# is_empty: no process has left anything in the spool.
is_empty() {
	[ -z "$(find "$work/kept" -type f -name '*.jfr')" ]
}

for i in $(seq "$programs"); do
	run "memory$i" "$seconds" ASPROF_AGENT_EXIT_TIMEOUT=300s &
	runs+=($!)
	run "spool$i" "$seconds" "${spooled[@]}" &
	runs+=($!)
	# Later than the others, which find what it leaves.
	(sleep 2 && run "killed$i" "$seconds" "${spooled[@]}") >"$work/killed$i.out" 2>&1 &
	victims+=($!)
	victim_logs+=("$work/killed$i.log")
done
sleep $((seconds / 2))
for log in "${victim_logs[@]}"; do
	until_true grep -q '^asprof-agent' "$log"
	pid=$(sed -n 's/^asprof-agent\[\([0-9]*\)\].*/\1/p;q' "$log")
	kill -9 "$pid" || fail "there is nothing to kill"
	killed+=("$pid")
done
wait "${victims[@]}"
for pid in "${runs[@]}"; do
	wait "$pid" || fail "a program failed"
done
for _ in $(seq 40); do
	is_empty && break
	run heir 5 "${spooled[@]}" ASPROF_AGENT_EXIT_TIMEOUT=20s || fail "an heir failed"
done
is_empty || fail "left: $(ls -A "$work/kept")"

/usr/bin/python3 - "$work" "${killed[@]}" <<-'END' || fail "reports are lost, or have two names"
	import collections, os, sys, zipfile
	os.chdir(sys.argv[1])
	arrived = collections.defaultdict(list)
	for name in os.listdir('objects'):
	    with zipfile.ZipFile(os.path.join('objects', name)) as whole:
	        assert whole.testzip() is None, name
	        arrived[whole.read('async_profiler_dump_0.jfr')].append(name)
	twice = [names for names in arrived.values() if len(names) > 1]
	lost = []
	for name in os.listdir('local'):
	    with open(os.path.join('local', name), 'rb') as file:
	        if file.read() not in arrived:
	            lost.append(name)
	# A killed program may have kept one report that it had not put into the spool yet.
	for pid in sys.argv[2:]:
	    of_it = [name for name in lost if '_%s_' % pid in name]
	    if len(of_it) == 1:
	        lost.remove(of_it[0])
	puts = collections.Counter(line.split()[1] for line in open('objects.log'))
	print('%d reports kept, %d arrived, %d lost, %d twice; PUTs by status: %s' % (
	    len(os.listdir('local')), len(arrived), len(lost), len(twice), dict(puts)))
	print(*['lost: ' + name for name in lost], *['twice: %s' % names for names in twice], sep='\n')
	sys.exit(bool(lost or twice))
END
