#!/bin/bash
# Wall-clock samples tell what threads wait for, and who owns the lock. The program measures its own waits. Also of a
# program that has changed its user, of one for musl, and of a static one of Go if GO is set.
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
	judge "$kinds" "$points"
}

# judge KINDS POINTS: compare the recordings with what the program has measured.
judge() {
	python3 test/programs/wait_causes_met.py "$agent" "$work/measured" "$2" "$1" "$work/out"/*.jfr >"$work/met" ||
		fail "$1: $(cat "$work/met" "$work/err")"
	[ -z "${VERBOSE:-}" ] || cat "$work/met"
}

waits=$(program wait_causes)
compare all "$waits" "${THREADS:-2}"
"$agent" waits --thread wait_causes "$work/out"/*.jfr >"$work/joins" || fail "waits: status $?"
grep -Eq '^  joins thread [0-9]+, in [a-z_]+, during [0-9]+% of this' "$work/joins" || fail "$(cat "$work/joins")"
if [ "$(id -u)" = 0 ]; then
	for_everybody
	chmod 777 "$work"
	compare functions "$waits" 0 65534
fi
if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 -D_GNU_SOURCE -I. -o "$work/wait_causes_musl" test/programs/wait_causes.c || fail "musl-gcc: status $?"
	compare musl "$work/wait_causes_musl" 0
fi
if [ -n "${GO:-}" ] && command -v go >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	GO111MODULE=off CGO_ENABLED=0 go build -o "$work/wait_causes_go" test/programs/wait_causes.go ||
		fail "go build: status $?"
	rm -rf "$work/out"
	ASPROF_AGENT_WALL_INTERVAL=10ms ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_START_DELAY=300ms "$agent" run \
		-o "$work/out" -- "$work/wait_causes_go" "$seconds" "$work" >"$work/measured" 2>"$work/err" ||
		fail "go: status $? $(cat "$work/err")"
	# The samples are not scaled: the exit of a static program omits the exact times.
	judge go $((2 * points))
fi
echo ok
