#!/bin/bash
# What goes wrong is said in one line that names it, and the program is as it would have been.
. "$(dirname "$0")/agent.inc"

cc_library() {
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC "$@" test/programs/fake_engine.c || exit 1
}
cc_library -o "$work/fake.so"
cc_library -o "$work/partial.so" -DWITHOUT_EXECUTE
echo "not a library" >"$work/text.so"
cp "$work/fake.so" "$work/locked.so" && chmod 0 "$work/locked.so"

# refused WHAT WORDS [VARIABLE=value...]: the program's output and status are its own, and on
# stderr there is one line, with WORDS in it.
refused() {
	local what=$1 words=$2 status
	shift 2
	profiled "$work/out" builtin LOCAL_DIR="$work/out" "$@" \
		sh -c 'sleep 1.5; echo out; exit 5' >"$work/said" 2>"$work/err"
	status=$?
	[ $status = 5 ] || fail "$what: status $status"
	[ "$(cat "$work/said")" = out ] || fail "$what: the program said $(cat "$work/said")"
	grep -q -- "$words" "$work/err" || fail "$what: no word of it: $(cat "$work/err")"
	# `sleep` is a process of its own, with a line of its own.
	sed 's/^asprof-agent\[[0-9]*\]: //' "$work/err" | sort | uniq -c >"$work/lines"
	[ "$(wc -l <"$work/lines")" -le "${LINES_MAX:-1}" ] || fail "$what: $(cat "$work/err")"
}

refused "wrong value" "ASPROF_AGENT_CPU_INTERVAL=10 parsecs" "CPU_INTERVAL=10 parsecs"
refused "relative library" "ASPROF_AGENT_LIB" LIB=here/lib.so
refused "missing library" "cannot find $work/none.so" ENGINE=async-profiler LIB="$work/none.so"
refused "not a library" "cannot load $work/text.so" ENGINE=async-profiler LIB="$work/text.so"
[ "$(id -u)" -eq 0 ] || refused "unreadable library" "cannot load $work/locked.so" \
	ENGINE=async-profiler LIB="$work/locked.so"
refused "library without the symbols" "it has no asprof_" ENGINE=async-profiler \
	LIB="$work/partial.so"
# Two lines: what the engine said, and what follows.
LINES_MAX=2
export FAKE_ENGINE
for FAKE_ENGINE in start dump; do
	refused "engine that cannot $FAKE_ENGINE" "$FAKE_ENGINE failed: told to fail" \
		ENGINE=async-profiler LIB="$work/fake.so" PROCESS=sh REPORTING_INTERVAL=1s
done
# It finishes no chunk at a dump either, so it is stopped and started, where it can be.
FAKE_ENGINE=stop
refused "engine that cannot stop" "stop failed: told to fail" ENGINE=async-profiler \
	LIB="$work/fake.so" PROCESS=sh REPORTING_INTERVAL=1s
unset FAKE_ENGINE
LINES_MAX=1

refused "directory that cannot be" "$work/text.so/reports" LOCAL_DIR="$work/text.so/reports"
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$work/small"
	mount -t tmpfs -o size=4k none "$work/small" || fail "cannot mount"
	refused "full disk" "No space left on device" LOCAL_DIR="$work/small" PROCESS=sh \
		REPORTING_INTERVAL=1s
	umount "$work/small"
fi
echo ok
