#!/bin/bash
# A program can leave its namespaces, which the kernel forbids while another thread exists. Calls that the kernel
# refuses fail with its error, even if the agent has already ended its threads.
. "$(dirname "$0")/interpose.inc"

interposers interpose_hooks
namespaces=$(program namespaces)
refused_calls=$(program refused_calls)

"$refused_calls" || fail "refused, by themselves"
LD_PRELOAD=$work/interpose_hooks.so "$refused_calls" 2>"$work/err" || fail "refused: $(cat "$work/err")"

ran=
for how in unshare setns 'unshare by_number' 'setns by_number'; do
	# shellcheck disable=SC2086 # words
	"$namespaces" $how || continue
	ran=1
	# shellcheck disable=SC2086 # words
	HOOKS_THREAD=1 LD_PRELOAD=$work/interpose_hooks.so "$namespaces" $how 2>"$work/err" ||
		fail "$how: status $? $(cat "$work/err")"
	grep -qx 'exiting 0: 0 started, 0 ended, 0 bad' "$work/err" || fail "$(cat "$work/err")"
done
[ -n "$ran" ] || skip "namespaces are not allowed here"
