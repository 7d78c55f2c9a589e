#!/bin/bash
# The number of samples in the metadata equals the number in the recording, with either engine, in every report.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
agent=$(dirname "$preload")/asprof-agent
store

jobs=()
profiled 2.5 ASPROF_AGENT_CPU_INTERVAL=1ms ASPROF_AGENT_WALL_INTERVAL=5ms \
	ASPROF_AGENT_NATIVE_MEM=64k ASPROF_AGENT_PROFILING_GROUP=builtin \
	ASPROF_AGENT_EXIT_TIMEOUT=30s ASPROF_AGENT_START_DELAY=0 &
jobs+=($!)
[ -z "${ASPROF_TEST_LIB:-}" ] || {
	profiled 2.5 ASPROF_AGENT_CPU_INTERVAL=1ms ASPROF_AGENT_WALL_INTERVAL=5ms \
		ASPROF_AGENT_ENGINE=async-profiler ASPROF_AGENT_LIB="$ASPROF_TEST_LIB" \
		ASPROF_AGENT_NATIVE_MEM=64k ASPROF_AGENT_PROFILING_GROUP=async \
		ASPROF_AGENT_EXIT_TIMEOUT=30s ASPROF_AGENT_START_DELAY=0 &
	jobs+=($!)
}
for job in "${jobs[@]}"; do
	wait "$job" || fail "a program failed"
done

/usr/bin/python3 - "$work/objects" "$agent" "${#jobs[@]}" <<-'END' || fail "what is told is not what is there"
	import json, os, re, subprocess, sys, zipfile
	at, agent, engines = sys.argv[1], sys.argv[2], int(sys.argv[3])
	total = {}
	for name in sorted(os.listdir(at)):
	    whole = os.path.join(at, name)
	    said = json.loads(zipfile.ZipFile(whole).read('metadata.json'))['agent']
	    text = subprocess.run([agent, 'summary', whole], stdout=subprocess.PIPE, check=True).stdout.decode()
	    types = re.findall(r'^ +(\d+) .*  ((?:jdk|profiler)\.\S+)$', text, re.M)
	    there = sum(int(count) for count, type in types
	                if type in ('jdk.ExecutionSample', 'profiler.WallClockSample', 'profiler.Malloc'))
	    told = said['samples']['taken']
	    print('%s: %d are told, %d are there' % (said['engine'], told, there))
	    assert told == there, text
	    total[said['engine']] = total.get(said['engine'], 0) + there
	assert len(total) == engines and all(count > 0 for count in total.values()), total
END
