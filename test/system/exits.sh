#!/bin/bash
# Each kind of exit makes one last report and keeps the status. Children that end make none.
. "$(dirname "$0")/interpose.inc"

interposers interpose_hooks
exits=$(program exits)

while read -r how told; do
	LD_PRELOAD=$work/interpose_hooks.so "$exits" "$how" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = 3 ] || fail "$how: status $status"
	[ ! -s "$work/out" ] || fail "$how: prints $(cat "$work/out")"
	[ "$(cat "$work/err")" = "exiting $told: 0 started, 0 ended, 0 bad" ] ||
		fail "$how: $(cat "$work/err")"
done <<-END
	_exit 1
	_Exit 1
	quick_exit 1
	execve 1
	execveat 1
	exit 0
	return 0
	vfork 0
	fork 0
END
