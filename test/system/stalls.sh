#!/bin/bash
# Long iterations of an event loop are recorded, for each call that waits: with the length that the program measured,
# the ready descriptors, and the current function. Short iterations are not. A stop ends the recording, a start begins
# it again, and a forked child has its own.
. "$(dirname "$0")/agent.inc"
turns=$(program turns) || exit 1

# told DIR [OPTION...]: print "MICROSECONDS FUNCTION", in order; FUNCTION is `none` if there is no stack.
told() {
	"$agent" longpolls "$@" --stack-depth 8 | awk '
		/ - stall of / { if (us) print us, name; us = $7 + 0; name = "none" }
		us && /[.]sleeping$/ { name = "sleeping" }
		us && /[.]burning$/ { name = "burning" }
		END { if (us) print us, name }'
}

# matches SAID TOLD: every iteration of 20 ms or more is recorded, with the program's own length within 10% or 2 ms;
# none below 10 ms is recorded; and a stack has the right function. Prints how many there are, and how many have a
# stack.
matches() {
	awk '
		FNR == NR { said[++n] = $1; by[n] = $2; most[n] = $3; next }
		{
			best = 0
			for (i = 1; i <= n; i++) {
				d = $1 < said[i] ? said[i] - $1 : $1 > most[i] ? $1 - most[i] : 0
				if (found[i] || d > 2000 && d > said[i] / 10) continue
				d += 1e9 * ($2 != "none" && $2 != by[i]) # two may be as long
				d += ($1 > said[i] ? $1 - said[i] : said[i] - $1) / 1e9
				if (!best || d < least) { best = i; least = d }
			}
			if (!best || most[best] < 9900) {
				print ($2 == "none" ? "told of nothing measured:" : "told and not so:"), $0
				bad = 1
				next
			}
			if ($2 != "none" && $2 != by[best]) { print "not in", by[best] ":", $0; bad = 1 }
			found[best] = 1; stacks += $2 != "none"
		}
		END {
			for (i = 1; i <= n; i++) {
				if (said[i] < 20000) continue
				long++
				if (!found[i]) { print "not told:", said[i], by[i]; bad = 1 }
			}
			print long + 0, stacks + 0
			exit bad
		}' "$1" "$2"
}

# tried NAME ENGINE WAIT [HOW]: run it. On a very busy machine, the watcher may get no processor during an iteration,
# which is then missing. A short iteration may wait for a processor outside the program's measurement, and is then
# recorded without a stack. So try a few times. Other wrong records fail at once.
tried() {
	name=$1 engine=$2
	shift 2
	for try in 1 2 3 4 5; do
		profiled "$work/$name.$try" "$engine" STALLS=${at_start:-on} WALL_INTERVAL=100ms "$turns" "$1" 4 30 60 "${@:2}" \
			>"$work/said" || fail "$name: status $?: $(cat "$work/said")"
		told "$work/$name.$try" >"$work/told" || fail "$name: longpolls: status $?"
		result=$(matches "$work/said" "$work/told") && break
		case $result in
		*'told and not so'* | *'not in'*) try=5 ;;
		esac
		[ $try != 5 ] ||
			fail "$name: $result; said: $(tr '\n' ',' <"$work/said") told: $(tr '\n' ',' <"$work/told")"
	done
	echo "$name: ${result% *} stalls told, ${result#* } with their stack"
	stacks=$((${stacks:-0} + ${result#* }))
}

for engine in $(engines); do
	for wait in epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect; do
		[ "$engine" = builtin ] || [ $wait = epoll_wait ] || continue
		tried "$engine.$wait" "$engine" $wait
	done
	# The watcher may have to wait for a processor, but not always.
	[ "$stacks" -gt 0 ] || fail "$engine: no stall has a stack"
	stacks=0
done

# In a forked child, which has no thread of its parent; and after a stop and a start.
for how in forked begun-anew; do
	tried $how builtin epoll_wait $how
done

# Enabled while it runs, and disabled.
at_start=off tried asked-for-later builtin epoll_wait STALLS=on
at_start=1s tried shorter-later builtin epoll_wait STALLS=10ms
profiled "$work/no-more" builtin STALLS=on "$turns" epoll_wait 2 20 20 STALLS=off >"$work/said" || fail "no more: status $?"
! "$agent" summary "$work/no-more" | grep -q 'asprof\.Stall' || fail 'stalls after STALLS=off'

# Each stall with a stack has the labels that its thread had then, though they are removed at its end; and they select
# it.
"$agent" longpolls --stack-depth 8 "$work"/builtin.* >"$work/out"
awk '
	/ - stall of / { label = $NF; n = 0 }
	match($0, /[.](sleeping|burning)$/) && !n++ {
		if (label != "turn=" substr($0, RSTART + 1)) { print label ": " $0; bad = 1 }
		found++
	}
	END { exit bad || !found }' "$work/out" || fail "not labelled: $(cat "$work/out")"
# The stack begins with the program's own function; the innermost frame is before it.
awk '/ - stall of / && $0 !~ /^\[20[0-9-]*T[0-9:]*\.[0-9]*Z\] / { print; bad = 1 }
	/^ -   1: / && !/[.](sleeping|burning|waits?|turn|main|[a-z0-9_]*)$/ { print; bad = 1 }
	/^ -   1: libc\.so/ { print; bad = 1 }
	END { exit bad }' "$work/out" || fail "not own functions first: $(cat "$work/out")"
"$agent" longpolls --json "$work"/builtin.* | python3 -c '
import json, sys
stalls = json.load(sys.stdin)
assert stalls
for stall in stalls:
    assert stall["kind"] == "stall" and stall["microseconds"] >= 10000 and stall["ready"] >= 0, stall
    if stall["frames"]:
        own = stall["frames"][stall["own"]]["name"]
        assert stall["context"].get("turn", own) == own, stall
assert any(stall["context"] for stall in stalls), stalls' || fail 'longpolls --json'
"$agent" longpolls --json --summary "$work"/builtin.* | python3 -c '
import json, sys
for row in json.load(sys.stdin):
    assert sum(row["histogram"].values()) == row["polls"], row' || fail 'longpolls --json --summary'
for label in sleeping burning; do
	"$agent" longpolls --label turn=$label "$work"/builtin.* >"$work/some" 2>"$work/err"
	[ "$(grep -c 'stall of' "$work/some")" = "$(grep -c "turn=$label\$" "$work/out")" ] ||
		fail "--label turn=$label: $(cat "$work/some" "$work/err")"
done

# By function, in each one for which the watcher was in time; shorter ones than requested are omitted.
"$agent" longpolls "$work"/builtin.* --summary >"$work/out"
{ grep -q sleeping "$work/out" && grep -q burning "$work/out"; } || fail "summary: $(cat "$work/out")"
[ -z "$(told "$work"/builtin.* 10s 2>/dev/null)" ] || fail 'stalls of ten seconds'
"$agent" summary "$work"/builtin.* | grep -q 'asprof\.Stall' || fail 'summary counts no stall'

# Without the setting, nothing is recorded.
profiled "$work/off" builtin "$turns" epoll_wait 2 20 20 >"$work/said" || fail "off: status $?"
! "$agent" summary "$work/off" | grep -q 'asprof\.Stall' || fail 'stalls without the setting'

# A sample of an interpreted function takes long, and a thread that waits uses no CPU time that would pay for it.
"${PYTHON:=/usr/bin/python3}" - >"$work/asleep.py" <<'PYTHON'
print("""
import asyncio, time
def blocking_call():
    time.sleep(0.05)
async def main():
    for i in range(20):
        await asyncio.sleep(0.05)
        blocking_call()
asyncio.run(main())
""")
PYTHON
profiled "$work/asleep" builtin STALLS=10ms "$PYTHON" "$work/asleep.py" || fail "asyncio: status $?"
"$agent" longpolls --summary --json "$work/asleep" >"$work/out" || fail 'asyncio: no stalls'
"$PYTHON" - "$work/out" <<'PYTHON' || fail "asyncio: $(cat "$work/out")"
import json, sys
polls = {row["name"]: row["polls"] for row in json.load(open(sys.argv[1]))}
sys.exit(polls.get("blocking_call", 0) < 10)
PYTHON
