#!/bin/bash
# A program's handlers of faults run with their signal mask and on their stack, also when the engine, which starts
# later, has handlers of faults in front of them. The engine notes the program's handlers after it has installed its
# own: meanwhile no fault goes nowhere. Its samples may fault several times. A handler that is reset by its first fault
# runs at the program's first fault, also if it is installed later than the engine's.
. "$(dirname "$0")/agent.inc"

masks=$(program fault_masks) || exit 1
for engine in $(engines); do
	got=$(profiled "$work/$engine" "$engine" START_DELAY=500ms CPU_INTERVAL=1ms "$masks" 2>&1) ||
		fail "$engine: status $?: $got"
	[ "$got" = "done" ] || fail "$engine: $got"
done

${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/walking.so" test/programs/walking_engine.c || exit 1
got=$(profiled "$work/walking" async-profiler LIB="$work/walking.so" LOG=info START_DELAY=500ms BUDGET=off \
	"$masks" 2>"$work/log") || fail "faults of the engine: status $?: $got; $(cat "$work/log")"
[ "$got" = "done" ] || fail "faults of the engine: $got"
grep -q 'profiling fault_masks with async-profiler' "$work/log" || fail "faults of the engine: $(cat "$work/log")"

once=$(program fault_once) || exit 1
for library in "$work/walking.so" ${ASPROF_TEST_LIB:+"$ASPROF_TEST_LIB"}; do
	for after_ms in 0 700; do
		got=$(ulimit -c 0 && profiled "$work/once" async-profiler LIB="$library" START_DELAY=500ms BUDGET=off \
			"$once" $after_ms 2>"$work/log")
		status=$?
		[ "$status $got" = "139 handled" ] ||
			fail "$library, $after_ms ms: status $status: $got; $(cat "$work/log")"
	done
done
