#!/bin/bash
# async-profiler's wall-clock samples have causes of waits: the agent looks at the threads, and the command joins both.
. "$(dirname "$0")/agent.inc"
have python3
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB does not name async-profiler's library"

# causes WAITS: names of the causes with their weights, as recorded with that value of WAITS.
causes() {
	rm -rf "$work/out"
	mkdir "$work/out"
	sleep 3 | profiled "$work/out" async-profiler WALL_INTERVAL=20ms WAITS="$1" EXIT_TIMEOUT=30s cat ||
		fail "$1: status $?"
	"$agent" waits --json "$work/out"/*.jfr >"$work/$1" || fail "waits: status $?"
	python3 - "$work/$1" <<-'EOF'
		import json, sys
		for group in json.load(open(sys.argv[1]))["groups"]:
		    print(group["name"])
	EOF
}

causes on >"$work/causes"
grep -q '^pipe-read$' "$work/causes" || fail "$(cat "$work/causes")"
"$agent" waits --cause pipe-read --by cause "$work/out"/*.jfr >/dev/null || fail "waits: status $?"
"$agent" collapsed --cause pipe-read "$work/out"/*.jfr | grep -q . || fail "no stack has the cause"
causes off >"$work/causes"
! grep -q '^pipe-read$' "$work/causes" || fail "WAITS=off: $(cat "$work/causes")"
echo ok
