#!/bin/bash
# Coroutines that run on small stacks which the system does not know: by own assembler code, by the C library, by
# boost.context, and Go's goroutines. With samples of both clocks every millisecond they behave as without the agent,
# and samples have the names of their functions.
. "$(dirname "$0")/agent.inc"

# in_them WHAT DELAY NAME LEAF PROGRAM [ARGUMENT...]: 90% of the samples have NAME, a pattern. (async-profiler does
# not walk a stack far from its handler's stack: then LEAF.)
in_them() {
	local what=$1 delay=$2 name=$3 leaf=$4 bare said engine all within
	shift 4
	bare=$("$@" 2>&1)
	[ "$?" = 5 ] && [ -n "$bare" ] || fail "$what: by itself: $bare"
	for engine in $(engines); do
		rm -rf "$work/reports" && mkdir "$work/reports"
		said=$(profiled "$work/reports" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms START_DELAY="$delay" \
			"$@" 2>"$work/err")
		[ "$? $said" = "5 $bare" ] || fail "$what, $engine: $said $(cat "$work/err")"
		# Go handles every signal, also async-profiler's, and the log reports that.
		[ "$what $engine" != "Go async-profiler" ] || continue
		[ ! -s "$work/err" ] || fail "$what, $engine: $(cat "$work/err")"
		"$agent" collapsed --cpu "$work/reports" >"$work/stacks" || fail "$what, $engine: no report"
		[ "$engine" = builtin ] || name=$leaf
		all=$(samples . <"$work/stacks") within=$(samples "(^|;)$name(;|\$)" <"$work/stacks")
		[ "$all" -ge 50 ] && [ $((within * 10)) -ge $((all * 9)) ] ||
			fail "$what, $engine: $within of $all samples are in $name: $(head -c 4000 "$work/stacks")"
	done
}

switches=$(program switches)
in_them "by hand" 0 'in_coroutine;work' work "$switches" hand
in_them ucontext 0 'in_coroutine;work' work "$switches" ucontext

if printf '#include <boost/context/fiber.hpp>\n' | ${CXX:-c++} -E -x c++ - >"$work/out" 2>&1; then
	${CXX:-c++} -std=c++17 -O2 -g -o "$work/fibers" test/programs/fibers.cc -lboost_context >"$work/err" 2>&1 ||
		fail "fibers: $(cat "$work/err")"
	in_them boost.context 0 'in_coroutine.*;.*work.*' '.*work.*' "$work/fibers"
else
	echo "boost.context was left out: it is not on this machine"
fi

export GO111MODULE=off CGO_ENABLED=1 GOFLAGS=
if [ "$(uname -m)" != x86_64 ]; then
	echo "goroutines were left out: Go's stacks are followed on x86-64 alone"
elif ! command -v go >/dev/null; then
	echo "goroutines were left out: go is not on this machine"
elif go build -o "$work/routines" test/programs/routines.go >"$work/err" 2>&1; then
	in_them Go 150ms 'main[.]inCoroutine;.*' '.*' "$work/routines"
else
	grep -qE 'gcc|cannot find|not supported' "$work/err" || fail "go build: $(cat "$work/err")"
	echo "goroutines were left out: go cannot link with C here"
fi
echo ok
