#!/bin/bash
# Recordings with either clock (timestamp counter, monotonic clock), and a file of chunks with both, are read the same
# by this command, the JDK's jfr and async-profiler's converter.
. "$(dirname "$0")/agent.inc"
[ -n "${ASPROF_TEST_LIB:-}" ] || skip 'ASPROF_TEST_LIB is not set'
have java jfr
converter=$(dirname "$ASPROF_TEST_LIB")/../bin/jfrconv
[ -x "$converter" ] || skip "no converter at $converter"
polls=$(program mem_polls)

# record NAME ENGINE ENGINE_OPTIONS
record() {
	profiled "$work/$1" "$2" ENGINE_OPTIONS="$3" NATIVE_MEM=4k CPU_INTERVAL=1ms WALL_INTERVAL=20ms "$polls" compute \
		2>"$work/err" || fail "$1: status $? $(cat "$work/err")"
	cat "$work/$1"/*.jfr >"$work/$1.jfr"
	cat "$work/$1.jfr" >>"$work/all.jfr"
}

# reads FILE: the three readers count the same number of samples, at least one.
reads() {
	own=$("$agent" collapsed --cpu "$1" 2>"$work/err" | samples .)
	converted=$("$converter" --cpu -o collapsed "$1" "$work/converted.txt" >"$work/said" 2>&1 &&
		samples . <"$work/converted.txt")
	jdk=$(jfr summary "$1" | awk '$1 == "jdk.ExecutionSample" { print $2 }')
	[ "$own" -ge 20 ] || fail "$1: $own samples: $(cat "$work/err")"
	[ "$own $own" = "$converted $jdk" ] ||
		fail "$1: this command has $own samples, the converter $converted, jfr $jdk: $(cat "$work/said")"
}

record builtin builtin ''
record ticks async-profiler clock=tsc
record monotonic async-profiler clock=monotonic
for name in builtin ticks monotonic all; do
	reads "$work/$name.jfr"
done

# The total time is the sum of the parts: the clocks are not confused.
awk -v parts="$(for name in builtin ticks monotonic; do "$agent" duration "$work/$name.jfr"; done | tr '\n' ' ')" \
	-v all="$("$agent" duration "$work/all.jfr")" 'BEGIN {
		n = split(parts, part, " ")
		for (i = 1; i <= n; i++) sum += part[i]
		exit !(n == 3 && all > sum - 0.001 && all < sum + 0.001)
	}' || fail "duration of the whole: $("$agent" duration "$work/all.jfr")"

# Polls have times of the counter; a chunk with the other clock is refused.
"$agent" longpolls "$work/builtin.jfr" >"$work/polls" || fail 'longpolls of the counter'
grep -q 'poll of' "$work/polls" || fail "no polls: $(cat "$work/polls")"
! "$agent" longpolls "$work/monotonic.jfr" >"$work/polls" 2>&1 || fail 'longpolls of the monotonic clock'
grep -q "clock is 'monotonic'" "$work/polls" || fail "$(cat "$work/polls")"
echo ok
