#!/bin/bash
# The agent's reserved address space does not count against the program's own limit (RLIMIT_AS), and is not locked
# with the program's memory (mlockall, RLIMIT_MEMLOCK).
. "$(dirname "$0")/agent.inc"
for_everybody
limits=$(program address_limits) || exit 1

# as_without HOW: the program's calls have the same results as without the agent.
as_without() {
	"$limits" "$1" >"$work/alone" || skip "$1: not here: $(cat "$work/alone")"
	rm -rf "$work/reports" && mkdir -m 0777 "$work/reports"
	profiled "$work/reports" builtin CPU_INTERVAL=5ms START_DELAY=200ms "$limits" "$1" >"$work/said" 2>"$work/err" ||
		fail "$1: status $?: $(cat "$work/err")"
	cmp -s "$work/alone" "$work/said" ||
		fail "$1: $(cat "$work/said" "$work/err"), and without us: $(cat "$work/alone")"
}

# reported HOW: the same, and there is a profile.
reported() {
	as_without "$1"
	[ ! -s "$work/err" ] || fail "$1: it said: $(cat "$work/err")"
	[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$1: no report"
}

reported all
reported now
reported space
# With these limits, mappings of the agent would count as the program's. So the agent maps nothing.
as_without limited

# async-profiler crashes without memory, so it is not loaded where a limit leaves too little.
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	# The limit is set before, during and after the load of async-profiler. Its memory then counts as the shell's,
	# which may have none left. The shell does not crash.
	mkfifo "$work/nothing"
	for pause in 0 0.002 0.004 0.006 0.01 0.03 0.2; do
		profiled "$work/reports" async-profiler bash -c \
			"read -t $pause; ulimit -d 20000; for i in {1..1000}; do :; done; exec sleep 0.1" \
			<>"$work/nothing" 2>"$work/err" || [ $? -lt 128 ] ||
			fail "little data after $pause s: status $?: $(cat "$work/err")"
		grep -q 'leave too little memory for .*ENGINE=builtin\|cannot allocate' "$work/err" ||
			fail "little data after $pause s: $(cat "$work/err")"
	done
fi
