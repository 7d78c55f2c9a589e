#!/bin/bash
# A program that may unmount /proc can do so while the agent records what its threads wait for.
. "$(dirname "$0")/agent.inc"
unmounts=$(program unmounts) || exit 1
alone=(unshare --mount --pid --fork --mount-proc)
[ "$("${alone[@]}" "$unmounts" 0 2>&1)" = ok ] || skip "this user cannot make namespaces"
# (async-profiler keeps a directory of /proc open.)
out=$(profiled "$work/out" builtin WALL_INTERVAL=10ms "${alone[@]}" "$unmounts" 1 2>&1) || fail "$out"
[ "$out" = ok ] || fail "$out"
echo ok
