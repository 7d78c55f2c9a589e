#!/bin/bash
# Waits that a sample interrupts are restarted through the other preloads: one that gives the program another clock,
# before or after the agent's, has the same effect as without the agent.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
waits=$(program timed_waits)
clock=$(program slow_clock -shared -fPIC -ldl)
sampler=$work/interpose_sampler.so
faketime=$(find /usr/lib* -name libfaketime.so.1 2>/dev/null | head -n 1)

# expect PRELOADS [NAME...]
expect() {
	preloads=$1
	shift
	out=$(SAMPLER_US=3000 LD_PRELOAD="$preloads" timeout 60 "$waits" "$@" 2>"$work/err") ||
		fail "$preloads $*: status $?: $out $(cat "$work/err")"
	[ "$out" = ok ] || fail "$preloads $*: $out"
	case $preloads in
	*"$sampler"*) ;;
	*) return ;;
	esac
	# Without samples, the test would show nothing.
	samples=$(sed -n 's/^exit: \([0-9]*\) samples, .*/\1/p' "$work/err")
	[ "${samples:-0}" -gt 3 ] || fail "$preloads $*: $(cat "$work/err")"
}

expect "$clock"
expect "$sampler"
expect "$sampler:$clock"
expect "$clock:$sampler"
# (libfaketime has its own faults in other calls.)
if [ -n "$faketime" ]; then
	export FAKETIME DONT_FAKE_MONOTONIC=0
	for FAKETIME in -10d +10d '+0 x0.25' '+0 x4'; do
		for chain in "$sampler:$faketime" "$faketime:$sampler"; do
			expect "$chain" nanosleep usleep 'clock_nanosleep until' select pselect
		done
	done
else
	echo "faketime is not on this machine"
fi
echo ok
