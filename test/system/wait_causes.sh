#!/bin/bash
# Wall-clock samples tell what threads wait for, and who owns the lock. The program measures its own waits. Also of a
# program that has changed its user, and of one for musl.
. "$(dirname "$0")/agent.inc"
have jfr python3
points=${POINTS:-20}
seconds=${SECONDS_EACH:-4}

# compare KINDS PROGRAM [ARGUMENT...]
compare() {
	local kinds=$1
	rm -rf "$work/out"
	mkdir "$work/out"
	[ "$kinds" != functions ] || chown 65534 "$work/out"
	profiled "$work/out" builtin WALL_INTERVAL=10ms FORK=off EXIT_TIMEOUT=30s timeout 100 \
		"$2" "$seconds" "$work" "${@:3}" >"$work/measured" 2>"$work/err" ||
		fail "$kinds: status $? $(cat "$work/err")"
	python3 test/programs/wait_causes_met.py "$agent" "$work/measured" "$points" "$kinds" "$work/out"/*.jfr >"$work/met" ||
		fail "$kinds: $(cat "$work/met" "$work/err")"
	[ -z "${VERBOSE:-}" ] || cat "$work/met"
}

waits=$(program wait_causes)
compare all "$waits" "${THREADS:-2}"
if [ "$(id -u)" = 0 ]; then
	for_everybody
	chmod 777 "$work"
	compare functions "$waits" 0 65534
fi
if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 -D_GNU_SOURCE -I. -o "$work/wait_causes_musl" test/programs/wait_causes.c || fail "musl-gcc: status $?"
	compare musl "$work/wait_causes_musl" 0
fi
echo ok
