#!/bin/bash
# The tests' function ends only processes that the test has started, even if their pids are reused: not another
# process, and no process with a thread of that number.
. "$(dirname "$0")/agent.inc"
sleepers=$(program sleepers)

# A process with threads that is no child of this test, and one that is a child.
(exec setsid -f "$sleepers" 20 600000 >"$work/strange")
for _ in $(seq 500); do
	strange=$(for each in /proc/[0-9]*; do
		[ "$(readlink "$each/exe" 2>/dev/null)" != "$sleepers" ] || basename "$each"
	done)
	[ -n "$strange" ] && [ "$(ls "/proc/$strange/task" | wc -l)" -ge 21 ] && break
	sleep 0.02
done
[ -n "$strange" ] || fail "it does not start"
trap 'kill -KILL "$strange"; end_own KILL "$child"; rm -rf "$work"' EXIT
sleep 600 &
child=$!
bash -c 'sleep 600 & echo $!; wait' >"$work/below" &
above=$!
for _ in $(seq 500); do
	[ ! -s "$work/below" ] || break
	sleep 0.02
done
below=$(cat "$work/below")
thread=$(ls "/proc/$strange/task" | tail -n 1)
[ "$thread" != "$strange" ] || fail "it has no threads"

end_own KILL "$strange" "$thread" '' 4194303
[ -d "/proc/$strange/task/$thread" ] || fail "another's process was ended"
is_own "$child" && is_own "$below" || fail "its own are not known"
end_own KILL "$child" "$below"
wait "$child"
[ $? = 137 ] || fail "its own child goes on"
wait "$above"
! is_own "$child" && ! is_own "$below" || fail "one that has ended is taken for its own"
echo ok
