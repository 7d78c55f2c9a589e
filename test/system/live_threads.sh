#!/bin/sh
# The current stack of each thread while async-profiler takes the samples: the builtin engine takes them, and leaves
# nothing.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB does not name async-profiler's library"
program=$(program live)
export XDG_RUNTIME_DIR="$work" # one that belongs to this user

signals() {
	grep -E '^(SigCgt|SigIgn|SigBlk)' "/proc/$one/status"
	cat "/proc/$one/timers"
}

held one ENGINE=async-profiler LIB="$ASPROF_TEST_LIB" CPU_INTERVAL=1ms "$program" 1
one=$pid
until_true "$agent" status "$one" || fail "no endpoint: $(cat "$work/one.err")"
until_true grep -q ready "$work/one.out" || fail "the program does not run"
# Wait until the engine has its timers and the program waits.
is_settled() {
	signals >"$work/before"
	sleep 0.3
	signals >"$work/again"
	cmp -s "$work/before" "$work/again" && grep -q '^ID' "$work/before"
}
until_true is_settled || fail "no timers: $(cat "$work/before")"
# On a busy machine a thread may not get a processor before the response is due.
shows_threads() {
	"$agent" threads "$one" >"$work/told" 2>"$work/told.err" || fail "threads: $(cat "$work/told.err")"
	grep -q '^ *wait_here' "$work/told" && grep -q '^\[live tid=[0-9]*\] waiting' "$work/told" && [ "$(grep -c '^\[live tid=' "$work/told")" = 2 ]
}
for turn in 1 2 3; do
	until_true shows_threads || fail "turn $turn: not two threads: $(cat "$work/told")"
done
# The last handler may still run.
is_as_before() {
	signals >"$work/after"
	cmp -s "$work/before" "$work/after"
}
until_true is_as_before || fail "it leaves something behind: $(diff "$work/before" "$work/after")"
"$agent" profile "$one" -t 1s collapsed >"$work/told" 2>&1
grep -q 'main;spin' "$work/told" || fail "no samples afterwards: $(cat "$work/told")"
"$agent" stop "$one" >/dev/null || fail "it cannot be stopped"
"$agent" threads "$one" >/dev/null 2>&1 && fail "threads of one that is stopped"
kill "$one"
wait "$one"
[ ! -s "$work/one.err" ] || fail "it complains: $(cat "$work/one.err")"
"$agent" collapsed "$work/one" 2>/dev/null | grep -q 'main;spin' || fail "no report"
