#!/bin/bash
# Runs alone: a test that reads /proc makes a parent spin.
#
# A parent waits for a profiled child and removes its entries from /proc. It spins there while a thread reads entries
# of the child. No thread of the agent reads such entries, and neither does the observed program.
. "$(dirname "$0")/agent.inc"

reaps=$(program reaps) || exit 1
for engine in $(engines); do
	for children in '' programs threads; do
		# The number is 0 or 1, or a hundred and more. Any other reader of a child's /proc entries makes it
		# spin, too.
		for _ in 1 2 3; do
			# shellcheck disable=SC2086 # none, or a word
			profiled "$work/out" "$engine" START_DELAY=0 CPU_INTERVAL=1ms WALL_INTERVAL=1ms "$reaps" $children \
				>"$work/said" 2>"$work/err" || fail "$engine, $children: $? $(cat "$work/err")"
			[ "$(cat "$work/said")" -ge 15 ] || continue 2
		done
		fail "$engine, $children: its waits took $(cat "$work/said") ms of a processor"
	done
done
