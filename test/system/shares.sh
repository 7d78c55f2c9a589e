#!/bin/bash
# Shares of CPU samples equal the shares that a program measures by its thread's CPU clock, also if four programs
# compete for two processors. Samples are at exact CPU times, not at the kernel's ticks.
#
# The bound is five standard deviations of all runs together. (test/long/shares.sh has a closer one.)
# Takes long.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/shares.inc"

for engine in $(engines); do
	: >"$work/spent"
	: >"$work/stacks"
	for _ in 1 2; do
		run_shares 4 1.5 "$engine" 2500us
		cat "$work"/spent.* >>"$work/spent"
		cat "$work"/stacks.* >>"$work/stacks"
	done
	read -r samples seconds off < <(deviation "$work/spent" "$work/stacks")
	echo "$engine: $samples samples in $seconds s, off by $off standard deviations"
	within 5 "$(awk -v s="$seconds" 'BEGIN { print s * 400 }')" "$samples" "$engine: samples"
	awk -v off="$off" 'BEGIN { exit !(off < 5) }' || fail "$engine: the shares are wrong"
done
