#!/bin/sh
# A program of known shape: its profile has the expected functions and shares, with each engine.
. "$(dirname "$0")/agent.inc"

seconds=${SHAPE_SECONDS:-1.5} # of CPU
shape=$(program shape) || exit 1

for engine in $(engines); do
	out=$work/$engine
	profiled "$out" "$engine" CPU_INTERVAL=10ms WALL_INTERVAL=100ms \
		"$shape" "$seconds" >"$work/cpu" 2>"$work/err" || fail "$engine: status $?"
	[ ! -s "$work/err" ] || fail "$engine said: $(cat "$work/err")"
	"$agent" collapsed --cpu --threads "$out" >"$work/cpu.txt" || fail "$engine: no CPU samples"
	"$agent" collapsed --wall --threads "$out" >"$work/wall.txt" || fail "$engine: no wall samples"

	# async-profiler does not correct for signals that a busy machine sends late.
	[ "$engine" = builtin ] && percent=5 || percent=40
	for thread in burner-1 burner-2; do
		within $percent "$(awk -v t="$thread" '$1 == t { print $2 * 100 }' "$work/cpu")" \
			"$(samples "^\\[$thread" <"$work/cpu.txt")" "$engine: CPU samples of $thread"
	done
	all=$(samples ';burner;' <"$work/cpu.txt")
	heavy=$(samples ';burner;burn_heavy' <"$work/cpu.txt")
	[ "$engine" = builtin ] || percent=15
	within $percent "$(awk -v n="$all" 'BEGIN { print n * 2 / 3 }')" "$heavy" \
		"$engine: share of burn_heavy"
	# On a busy machine the sampler may miss some samples, but it never takes one too many.
	slept=$(samples '^\[sleeper.*;wait_long' <"$work/wall.txt")
	awk -v n="$slept" '$1 == "sleeper" { exit !(n >= $2 * 5 && n <= $2 * 10 + 2) }' "$work/cpu" ||
		fail "$engine: $slept wall samples, $(grep sleeper "$work/cpu") s"

	# Every stack begins at its thread's entry. async-profiler has one more frame after _start. It does not unwind
	# the dynamic loader and exit(3), which may have one of some hundred samples.
	for kind in cpu wall; do
		entry='^\[[^]]*\];(unknown;)?(_start|__clone3|clone3|clone|__clone);'
		[ "$engine" = builtin ] || entry="$entry|^\\[[^]]*\\];(_dl_runtime_resolve|exit;)"
		if grep -vE "$entry" "$work/$kind.txt"; then
			fail "$engine: $kind stacks that do not reach the thread's entry"
		fi
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
