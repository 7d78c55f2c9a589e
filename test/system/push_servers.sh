#!/bin/bash
# The Pyroscope and the OTLP reporter: a strict server gets the same totals by function as `top` shows for the
# reports' files, for time and memory, by both engines, with the labels of their origin.
. "$(dirname "$0")/agent.inc"
. test/system/push.inc

pushed=$(program pushed) || exit 1
for engine in $(engines); do
	serve "$engine"
	OTEL_RESOURCE_ATTRIBUTES='deployment.environment=a%20b,service.version=7' POD_NAME=a-pod \
		profiled "$work/$engine.out" "$engine" REPORTING_INTERVAL=1s CPU_INTERVAL=1ms WALL_INTERVAL=10ms \
		NATIVE_MEM=16k NATIVE_MEM_ENGINE=builtin TAGS='team=blue,odd key={x},y=1' METADATA=none \
		PROFILING_GROUP='my group' LOG_FILE="$work/$engine.log" \
		PYROSCOPE_URL="$url/" OTLP_ENDPOINT="$url" "$pushed" 2.5 || fail "$engine: status $?"
	[ ! -s "$work/$engine.log" ] || fail "$engine: $(cat "$work/$engine.log")"
	[ ! -s "$work/$engine.refused" ] || fail "$engine: refused: $(cat "$work/$engine.refused")"
	compare "$work/$engine" "$work/$engine.out" pprof
	compare "$work/$engine" "$work/$engine.out" otlp
	/usr/bin/python3 - "$work/$engine" "$(uname -n)" <<-'END' || fail "$engine: labels"
		import json, sys
		lines = list(map(json.loads, open(sys.argv[1])))
		for m in lines:
		    labels = m['labels']
		    if m['kind'] == 'pprof':
		        assert m['service'] == 'my_group', m['service']
		        want = {'host': sys.argv[2], 'pod': 'a-pod', 'executable': 'pushed', 'version': '7',
		                'team': 'blue', 'odd_key': '_x_', 'y': '1', 'deployment_environment': 'a b'}
		        assert labels['pid'].isdigit()
		    else:
		        assert m['service'] == 'my group', m['service']
		        want = {'host.name': sys.argv[2], 'k8s.pod.name': 'a-pod', 'process.executable.name': 'pushed',
		                'service.version': '7', 'team': 'blue', 'odd key': '{x}', 'deployment.environment': 'a b'}
		        assert isinstance(labels['process.pid'], int)
		        assert any('pushed' in t for t in m['threads']), m['threads']
		        assert m['periods'].get('cpu:nanoseconds', 'cpu:nanoseconds:1000000') == 'cpu:nanoseconds:1000000'
		    for key, value in want.items():
		        assert labels.get(key) == value, (key, labels)
		ids = [i for m in lines for i in m.get('ids', [])]
		assert len(set(ids)) == len(ids), 'an id twice'
		assert {m.get('metric') for m in lines} == {None, 'process_cpu', 'wall', 'memory'}
	END
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
