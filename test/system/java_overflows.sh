#!/bin/bash
# A Java program whose stack overflows continues, however often it is sampled: no walk of such a stack takes longer
# than the time until the next overflow. Without the agent, one takes a tenth of a second. TIMES=5
. "$(dirname "$0")/agent.inc"
have java javac
javac -d "$work" test/programs/Overflows.java || fail "javac"

for engine in $(engines); do
	# (If a program ends while async-profiler starts, a line reports that.)
	ms=0
	[ "$engine" = builtin ] || ms=2000
	for interval in 1ms 100us; do
		for ((i = 0; i < ${TIMES:-5}; i++)); do
			rm -rf "$work/out"
			profiled "$work/out" "$engine" CPU_INTERVAL=$interval WALL_INTERVAL=$interval PROCESS=java \
				timeout 100 java -cp "$work" Overflows $ms >"$work/said" 2>"$work/err" ||
				fail "$engine at $interval: status $?: $(cat "$work/said" "$work/err")"
			[ "$(cat "$work/said")" = "done" ] || fail "$engine at $interval: $(cat "$work/said")"
			# (async-profiler starts in the VM's own time, which may be too long on a busy machine.)
			! grep -v 'start failed: it does not answer; profiling is off in this process$' "$work/err" ||
				fail "$engine at $interval: $(cat "$work/err")"
		done
	done
done
