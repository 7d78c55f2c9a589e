#!/bin/bash
# `asprof-agent doctor --try` runs the program for two seconds and checks its profile: samples, names, complete
# stacks. It leaves no process and no file.
. "$(dirname "$0")/agent.inc"
have python3 setsid
export TMPDIR="$work/tmp" ASPROF_AGENT_LOCAL_DIR="$work/reports" ASPROF_AGENT_ENGINE=builtin
mkdir "$work/tmp" "$work/reports"

cat >"$work/spins.c" <<'END'
#include <stdio.h>
static volatile int turns;
__attribute__((noinline)) static void turn(void) { for (int i = 0; i < 100000; i++) turns++; }
int main(void) { dprintf(1, "output\n"); for (;;) turn(); }
END
${CC:-cc} -g -O1 -o "$work/spins" "$work/spins.c" || exit 1
cp "$work/spins" "$work/stripped" && strip "$work/stripped" || exit 1
cat >"$work/stays.sh" <<'END'
trap '' TERM
setsid sleep 600 &
echo $$ $! >"$1"
sleep 600 &
wait
END

# try NAME ARGUMENT...: in the background, because each takes a few seconds.
tried=
try() {
	"$agent" doctor --try "${@:2}" >"$work/$1.out" 2>"$work/$1.err" &
	tried="$tried $!"
}
try spins --json -- "$work/spins"
try stripped -- "$work/stripped"
try stays -- bash "$work/stays.sh" "$work/stays.pids"
try interrupted -- bash "$work/stays.sh" "$work/interrupted.pids"
interrupted=${tried##* }
for _ in $(seq 500); do
	[ ! -s "$work/interrupted.pids" ] || break
	sleep 0.02
done
kill -TERM "$interrupted"
wait "$interrupted"
[ $? = 143 ] || fail "interrupted: not ended by SIGTERM: $(cat "$work/interrupted.out" "$work/interrupted.err")"
for pid in $tried; do
	wait "$pid"
done

# A child that doctor had before, as of a shell that has executed it, is not waited for, and goes on.
sh -c 'sleep 600 & echo $! >"$0"; exec "$@"' "$work/before" "$agent" doctor --try -- sh -c 'exit 3' >"$work/before.out" 2>&1
before=$(cat "$work/before")
kill "$before" || fail 'a process that the program has not started was ended'
grep -q 'then it ended with status 3' "$work/before.out" || fail "before: $(cat "$work/before.out")"

python3 - "$work/spins.out" <<'END' || fail "spins: $(cat "$work/spins.out" "$work/spins.err")"
import json, sys
found = json.load(open(sys.argv[1]))
tried = found['tried']
assert found['profiles'] and tried['cpu_samples'] > 0 and tried['named'] > 0.9 and tried['complete'] > 0.9, found
assert 'native' in tried['frames'] and tried['heaviest'][0]['name'] == 'turn', found
END
grep -qx output "$work/spins.err" || fail "the program's output: $(cat "$work/spins.err")"
grep -q '^note  names: .*have no name' "$work/stripped.out" || fail "stripped: $(cat "$work/stripped.out")"
grep -q '^tried .* samples of CPU time' "$work/stripped.out" || fail "stripped: $(cat "$work/stripped.out")"
grep -q '^tried ' "$work/stays.out" || fail "stays: $(cat "$work/stays.out" "$work/stays.err")"
for pid in $(cat "$work/stays.pids" "$work/interrupted.pids"); do
	[ ! -e "/proc/$pid" ] || fail "process $pid was left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
done
[ -z "$(ls -A "$work/tmp")$(ls -A "$work/reports")" ] || fail "files were left: $(ls -AR "$work/tmp" "$work/reports")"

# ---- programs that cannot be tried ----
"$agent" doctor --try -- true >"$work/out" 2>&1 || fail "true: $(cat "$work/out")"
grep -q '^note  samples: .*ended with status 0' "$work/out" || fail "true: $(cat "$work/out")"
install -m 644 "$work/spins" "$work/data"
"$agent" doctor --try -- "$work/data" >"$work/out" 2>&1
[ $? = 1 ] && grep -q '^stop  try: .*cannot be run: Permission denied' "$work/out" || fail "no program: $(cat "$work/out")"
for arguments in --try "--try $$" "$$ --try" "$$ --send" "$$ true" "$$ -- true"; do
	"$agent" doctor $arguments >"$work/out" 2>&1
	[ $? = 2 ] && grep -q 'needs a COMMAND\|its PID\|follow the PID' "$work/out" || fail "$arguments: $(cat "$work/out")"
done
echo ok
