#!/bin/bash
# Runs alone: a test that looks into /proc makes a parent spin.
#
# A parent that waits for a profiled child takes its entries out of /proc, and spins there while a thread does the
# same with entries of its own: none of ours, which are nice and would let it spin for long, has any; nor have those
# of the program that we look at.
. "$(dirname "$0")/agent.inc"

reaps=$(program reaps) || exit 1
for engine in $(engines); do
	for children in '' programs threads; do
		# It is 1 or 2, or hundreds and more; and whoever else looks at a child in /proc has it spin, too.
		for _ in 1 2 3; do
			# shellcheck disable=SC2086 # none, or a word
			profiled "$work/out" "$engine" START_DELAY=0 CPU_INTERVAL=1ms WALL_INTERVAL=1ms "$reaps" $children \
				>"$work/said" 2>"$work/err" || fail "$engine, $children: $? $(cat "$work/err")"
			[ "$(cat "$work/said")" -ge 25 ] || continue 2
		done
		fail "$engine, $children: its waits took $(cat "$work/said") ms of a processor"
	done
done
