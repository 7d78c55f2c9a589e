#!/bin/bash
# One line names each problem, and the program behaves as without the agent.
# Takes long.
. "$(dirname "$0")/agent.inc"

cc_library() {
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC "$@" test/programs/fake_engine.c || exit 1
}
cc_library -o "$work/fake.so"
cc_library -o "$work/partial.so" -DWITHOUT_EXECUTE
echo "not a library" >"$work/text.so"
cp "$work/fake.so" "$work/locked.so" && chmod 0 "$work/locked.so"
mkdir -m 0777 "$work/reports"

as_user=()

# refused WHAT WORDS [VARIABLE=value...]: the program's output and status do not change. stderr has one line of each
# process, with WORDS in it, and at its end one about the lost reports.
refused() {
	local what=$1 words=$2 status
	shift 2
	profiled "$work/reports" builtin LOCAL_DIR="$work/reports" "$@" \
		"${as_user[@]}" sh -c 'sleep 1.5; echo out; exit 5' >"$work/said" 2>"$work/err"
	status=$?
	[ $status = 5 ] || fail "$what: status $status, $(cat "$work/err")"
	[ "$(cat "$work/said")" = out ] || fail "$what: the program said $(cat "$work/said")"
	grep -q "^asprof-agent\[[0-9]*\]: .*$words" "$work/err" ||
		fail "$what: no word of it: $(cat "$work/err")"
	[ -z "$(sed '/ not delivered and /d; s/\]: .*//' "$work/err" | sort | uniq -d)" ] || fail "$what: $(cat "$work/err")"
}

# With an engine's library, whose fault is only found when it is used.
with_library() {
	local what=$1 words=$2 library=$3
	shift 3
	refused "$what" "$words; profiling is off in this process" PROCESS=sh \
		ENGINE=async-profiler LIB="$library" REPORTING_INTERVAL=1s "$@"
}

refused "wrong value" "ASPROF_AGENT_CPU_INTERVAL=10 parsecs" "CPU_INTERVAL=10 parsecs"
refused "log file" "cannot open ASPROF_AGENT_LOG_FILE=/proc/none: .*; stderr is used instead" \
	LOG_FILE=/proc/none
: >"$work/file" && ln -s "$work/file" "$work/link"
refused "log file that is a link" "cannot open ASPROF_AGENT_LOG_FILE=$work/link: it must be a regular file .*; stderr is used instead" \
	LOG_FILE="$work/link"
refused "relative library" "ASPROF_AGENT_LIB" LIB=here/lib.so

# Permissions do not restrict root, so root runs the rest as another user.
if [ "$(id -u)" -eq 0 ]; then
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	for_everybody
fi

with_library "missing library" "cannot find $work/none.so: .*" "$work/none.so"
with_library "not a library" "cannot load $work/text.so: .*" "$work/text.so"
mkfifo -m 0666 "$work/fifo.so"
(as_user=(timeout 60 "${as_user[@]}") && with_library "library that is a FIFO" \
	"cannot load $work/fifo.so: it is not a regular file" "$work/fifo.so") || exit 1
with_library "unreadable library" "cannot load $work/locked.so: .*" "$work/locked.so"
with_library "library without the symbols" "it has no asprof_[a-z]*" "$work/partial.so"
refused "not a library, but another engine" "cannot load .*; the builtin engine is used instead" \
	PROCESS=sh ENGINE=auto LIB="$work/text.so"

(ulimit -v 100000 && with_library "little room" "the process.s limits (ulimit -v, ulimit -d) leave too little memory for $work/fake.so.*" \
	"$work/fake.so") || exit 1

export FAKE_ENGINE
for FAKE_ENGINE in start dump; do
	with_library "engine that cannot $FAKE_ENGINE" "$FAKE_ENGINE failed: told to fail" \
		"$work/fake.so"
done
# It finishes no chunk at a dump either, so it is stopped and started, if that is possible.
FAKE_ENGINE=stop
with_library "engine that cannot stop" "stop failed: told to fail" "$work/fake.so"
unset FAKE_ENGINE

refused "directory that cannot be" "$work/text.so/reports" PROCESS=sh \
	LOCAL_DIR="$work/text.so/reports"
mkdir "$work/locked" && chmod 0555 "$work/locked"
refused "directory that may not be written" "$work/locked.*Permission denied" \
	LOCAL_DIR="$work/locked" PROCESS=sh REPORTING_INTERVAL=1s
refused "directory that may not be made" "$work/locked/reports.*Permission denied" \
	LOCAL_DIR="$work/locked/reports" PROCESS=sh
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$work/small"
	trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
	mount -t tmpfs -o size=4k,mode=0777 none "$work/small" || fail "cannot mount"
	refused "full disk" "No space left on device" LOCAL_DIR="$work/small" PROCESS=sh \
		REPORTING_INTERVAL=1s
	umount "$work/small"
fi
echo ok
