#!/bin/bash
# Profiles of a running Python program for two seconds, 100 samples a second: by attach, py-spy, perf, and one backtrace by gdb.
# Of each: the time of the command in addition to these seconds, its CPU time, the longest pause of the program, the sum of
# its pauses of a millisecond and more, and the work that it did meanwhile, as a ratio to a bare run.
#
#   ROUNDS=7  number of runs of each, alternating; medians are printed
#   SPY=/opt/venv/bin/py-spy  that py-spy
#   PAUSES=200  then attach and detach so often in a program with one busy thread, which measures its pauses
set -eu
. "$(dirname "$0")/../system/agent.inc"
rounds=${ROUNDS:-7}
spy=${SPY:-$(command -v py-spy || true)}
pauses=${PAUSES:-200}

cat >"$work/work.py" <<'P'
import sys, threading, time

ended = False

def wait():
    while not ended:
        time.sleep(0.5)

def step():
    return sum(i * i % 7 for i in range(200))

for _ in range(16):
    threading.Thread(target=wait).start()
print("ready", flush=True)
stop = threading.Thread(target=sys.stdin.read)
stop.start()
steps = pauses = longest = 0.0
begin = last = time.monotonic()
while stop.is_alive():
    step()
    steps += 1
    now = time.monotonic()
    if now - last > 0.001:
        pauses += now - last
        longest = max(longest, now - last)
    last = now
ended = True
print("%.3f %.3f %.0f" % (longest * 1000, pauses * 1000, steps / (last - begin)))
P

command_bare() { sleep 2; }
command_attach() { "$agent" attach "$1" --for 2s --cpu 10ms top -n 1; }
command_py_spy() { "$spy" record --pid "$1" --duration 2 --rate 100 --format raw --output "$work/spy.txt"; }
command_perf() { perf record -q -F 100 -g -p "$1" -o "$work/perf.data" -- sleep 2; }
command_gdb() { gdb -p "$1" -batch -ex 'thread apply all bt 5'; }

# measure NAME: one run; appends a line to $work/NAME.
measure() {
	mkfifo "$work/input"
	python3 "$work/work.py" <"$work/input" >"$work/out" &
	local pid=$! TIMEFORMAT='%R %U %S'
	exec 7>"$work/input"
	rm "$work/input"
	until grep -q ready "$work/out"; do sleep 0.02; done
	{ time "command_$1" $pid >/dev/null 2>"$work/err" 7>&-; } 2>"$work/time" || fail "$1: $(cat "$work/err")"
	exec 7>&-
	wait $pid
	echo "$(tail -n 1 "$work/time") $(tail -n 1 "$work/out")" >>"$work/$1"
}

names="bare attach"
[ -z "$spy" ] || names="$names py_spy"
perf record -q -o "$work/perf.data" true >/dev/null 2>&1 || true
[ ! -s "$work/perf.data" ] || names="$names perf"
! command -v gdb >/dev/null || names="$names gdb"
for ((i = 0; i < rounds; i++)); do
	for name in $names; do
		measure "$name"
	done
done

# median NAME COLUMNS: of the sum of the columns.
median() {
	awk -v columns="$2" '{ n = split(columns, at, "+"); s = 0; for (i = 1; i <= n; i++) s += $at[i]; print s }' "$work/$1" |
		sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}
printf '%-8s %10s %10s %14s %14s %8s\n' command 'more s' 'CPU s' 'longest ms' 'pauses ms' 'work'
for name in $names; do
	printf '%-8s %10.2f %10.2f %14.1f %14.1f %8.3f\n' "$name" \
		"$(median "$name" 1 | awk -v own="$([ "$name" = gdb ] && echo 0 || echo 2)" '{ print $1 - own }')" \
		"$(median "$name" 2+3)" "$(median "$name" 4)" "$(median "$name" 5)" \
		"$(median "$name" 6 | awk -v bare="$(median bare 6)" '{ print $1 / bare }')"
done

# Three periods a round: without a command, attach, detach.
mkfifo "$work/input"
"$(program pauses)" <"$work/input" >"$work/out" &
pid=$!
exec 7>"$work/input"
until grep -q ready "$work/out"; do sleep 0.02; done
for ((i = 0; i < pauses; i++)); do
	printf b >&7
	sleep 0.1
	printf a >&7
	"$agent" attach "$pid" 2>"$work/err" 7>&- || fail "attach: $(cat "$work/err")"
	printf d >&7
	"$agent" detach "$pid" 2>"$work/err" 7>&- || fail "detach: $(cat "$work/err")"
done
printf e >&7
exec 7>&-
wait $pid
printf '\nlongest pause in ms, of %d: median, 99th percentile, longest; and without the waits for a processor\n' "$pauses"
for label in b a d; do
	case $label in b) name=bare ;; a) name=attach ;; d) name=detach ;; esac
	for column in 2 3; do
		awk -v label=$label -v column=$column '$1 == label { print $column / 1000 }' "$work/out" | sort -n |
			awk '{ all[NR] = $1 } END { printf "%8.2f %8.2f %8.2f", all[int((NR + 1) / 2)], all[int(NR * 0.99 + 0.999)], all[NR] }'
	done | sed "s/^/$(printf '%-8s' "$name")/"
	echo
done
