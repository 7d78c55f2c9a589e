#!/bin/bash
# recover loses nothing. A report that it makes of a killed process's recording waits in the spool, where the next
# recover finds it, until -o has written a profile. If that cannot be written, everything stays.
. "$(dirname "$0")/agent.inc"
survives=$(program survives)
spool=$work/spool
mkdir "$spool"
# kill_one NAME [SETTING]: its finished chunk is then in the spool, for a destination that no other process has. SETTING
# is set while it runs.
kill_one() {
	local victim
	profiled "$work/$1.out" builtin SPOOL_DIR="$spool" CPU_INTERVAL=1ms REPORTING_INTERVAL=1h "$survives" "$work/$1.book" &
	pid=$!
	for _ in $(seq 1000); do
		[ -n "$(find "$spool" -name '.survives*.running.chunks' -size +12000c)" ] && break
		sleep 0.02
	done
	sleep 0.5
	victim=$(pgrep -P $pid -x survives || echo $pid)
	if [ $# -gt 1 ]; then
		"$agent" set "$victim" "$2" >/dev/null || fail "cannot set $2"
		sleep 2.5 # until the next chunk is finished
	fi
	kill -9 "$victim"
	wait $pid 2>/dev/null
}
# left WHAT: number of files of that kind in the spool.
left() {
	find "$spool" -name "$1" | wc -l
}

kill_one first
"$agent" recover "$spool" >"$work/said" 2>"$work/err" || fail "recover: $(cat "$work/err")"
grep -q 'samples of survives' "$work/said" && grep -q '1 report waits in the spool .* recover -o DIR' "$work/err" ||
	fail "not said where it is: $(cat "$work/said" "$work/err")"
[ "$(left '*.spool.jfr')" = 1 ] && [ "$(left '*.running.log')" = 0 ] || fail "the spool holds: $(ls -A "$spool")"
for turn in '' --dry-run; do
	"$agent" recover $turn "$spool" >"$work/said" 2>"$work/err" || fail "recover $turn: $(cat "$work/err")"
	grep -q 'awaits its delivery: survives' "$work/said" && ! grep -q 'no killed process left' "$work/err" ||
		fail "the next recover $turn: $(cat "$work/said" "$work/err")"
done

# Any number of reports that wait is handled at once.
mkdir "$work/many"
note=$(cat "$spool"/*.spool.json)
for i in $(seq 4200); do
	name=$work/many/survives_1_2026-01-01T00-00-00Z-$i.spool
	printf %s "$note" >"$name.json"
	: >"$name.jfr"
done
[ "$("$agent" recover --dry-run "$work/many" 2>/dev/null | grep -c 'awaits its delivery')" = 4200 ] ||
	fail "not all of 4200 reports: $("$agent" recover --dry-run "$work/many" 2>&1 | tail -n 2)"

# A finished and an unfinished one, and no space for either.
kill_one second
mkdir "$work/out"
(
	trap '' XFSZ
	ulimit -f 1
	"$agent" recover "$spool" -o "$work/out" >"$work/said" 2>"$work/err"
) && fail "written without room: $(cat "$work/said")"
[ "$(left '*.spool.jfr')" = 1 ] && [ "$(left '*.spool.json')" = 1 ] && [ "$(left '*.running.log')" = 1 ] &&
	[ "$(left '*.running.chunks')" = 1 ] || fail "lost without room: $(ls -A "$spool") $(cat "$work/err")"
[ -z "$(find "$work/out" -type f)" ] || fail "half of it was written: $(ls -A "$work/out")"

"$agent" recover "$spool" -o "$work/out" >"$work/said" 2>"$work/err" || fail "recover -o: $(cat "$work/err")"
[ "$(find "$work/out" -name 'survives_*.jfr' | wc -l)" = 2 ] || fail "profiles: $(ls -A "$work/out") $(cat "$work/said" "$work/err")"
for profile in "$work/out"/*.jfr; do
	[ "$("$agent" collapsed --cpu "$profile" | samples compute)" -gt 0 ] || fail "nothing is in $profile"
done
[ -z "$(find "$spool" -type f)" ] || fail "the spool holds still: $(ls -A "$spool")"
"$agent" recover "$spool" 2>&1 | grep -q 'no killed process left' || fail "it finds more"

# Data has the settings that it was recorded with, also if they were changed.
kill_one third PROFILING_GROUP=changed
"$agent" recover "$spool" >"$work/said" 2>"$work/err" || fail "recover after set: $(cat "$work/err")"
grep -q '"group":"changed"' "$spool"/*.spool.json || fail "the group before set: $(cat "$spool"/*.spool.json)"
