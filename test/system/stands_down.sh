#!/bin/bash
# The library stands down with one line: a second copy of it, and in a process with too few descriptors for a report.
. "$(dirname "$0")/agent.inc"

# run WORDS PROFILES LIMIT PRELOAD...: stderr has one line with WORDS, and there are PROFILES.
run() {
	rm -rf "$work/out"
	(
		ulimit -n "$3"
		LD_PRELOAD=$4 ASPROF_AGENT_LOCAL_DIR=$work/out ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_ENGINE=builtin \
			ASPROF_AGENT_EXIT_TIMEOUT=30s exec sleep 1
	) 2>"$work/err" || fail "$1: status $?: $(cat "$work/err")"
	grep -q "$1" "$work/err" && [ "$(wc -l <"$work/err")" = 1 ] || fail "$1: $(cat "$work/err")"
	[ "$(find "$work/out" -name '*.jfr' 2>/dev/null | wc -l)" = "$2" ] || fail "$1: profiles: $(ls "$work/out")"
}

preload=$(realpath "$preload")
cp "$preload" "$work/copy.so"
run "two copies of this library; $preload profiles this process, and $work/copy.so does not" 1 1000 "$preload:$work/copy.so"
run "two copies of this library; $work/copy.so profiles this process, and $preload does not" 1 1000 "$work/copy.so:$preload"
run 'RLIMIT_NOFILE is 6, and the agent needs 8' 0 6 "$preload"
echo ok
