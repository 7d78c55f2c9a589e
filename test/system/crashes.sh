#!/bin/bash
# A crash without a handler is an event of the last report, with the stack of the crash. Status, core dump and the
# place in it are as without the agent. A program with its own handler keeps it.
. "$(dirname "$0")/agent.inc"
crashes=$(program crashes -fno-omit-frame-pointer)
mkdir "$work/cores"

# run PREFIX COMMAND...: its output and its status are in $work/PREFIX.*; its core, if any, is in $work/cores.
run() {
	prefix=$1
	shift
	rm -f "$work/cores/"*
	python3 - "$work/cores" "$@" >"$work/$prefix" 2>"$work/err" <<-'END'
		import os, resource, signal, sys
		signal.signal(signal.SIGXFSZ, signal.SIG_DFL) # which python ignores
		resource.setrlimit(resource.RLIMIT_CORE, [resource.getrlimit(resource.RLIMIT_CORE)[1]] * 2)
		os.chdir(sys.argv[1])
		child = os.fork()
		if not child:
		    os.execvp(sys.argv[2], sys.argv[2:])
		status = os.waitpid(child, 0)[1]
		print("signal", os.WTERMSIG(status), "core", os.WCOREDUMP(status), "status", os.WEXITSTATUS(status))
	END
}

# place: the current function of the newest core.
place() {
	core=$(find "$work/cores" -type f | head -n 1)
	[ -n "$core" ] && [ -n "$told" ] && command -v gdb >/dev/null || return 0
	gdb -q -batch -ex "p \$_siginfo.si_signo" -ex "p \$_siginfo.si_code" -ex 'bt 3' "$crashes" "$core" 2>/dev/null |
		grep -E '^\$|^#' | sed 's/0x[0-9a-f]*//g; s/(.*//'
}

# each ENGINE WAY HOW SIGNAL
each() {
	run bare "$crashes" "$2" $3
	place >"$work/bare.place"
	rm -rf "$work/out"
	run with env ASPROF_AGENT_ENGINE="$1" ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-libasyncProfiler.so}" \
		ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_CPU_INTERVAL=1ms \
		ASPROF_AGENT_EXIT_TIMEOUT=30s LD_PRELOAD="$preload" "$crashes" "$2" $3
	place >"$work/with.place"
	cmp -s "$work/bare" "$work/with" || fail "$*: $(cat "$work/with" "$work/err"), bare $(cat "$work/bare")"
	cmp -s "$work/bare.place" "$work/with.place" ||
		fail "$*: $(cat "$work/with.place"), bare: $(cat "$work/bare.place")"
	set -- "$@" "$work/out/crashes_"*.jfr
	[ -s "$5" ] || fail "$1 $2 $3: no last report: $(cat "$work/err")"
	"$agent" summary "$5" >"$work/summary" || fail "$1 $2 $3: $(cat "$work/summary")"
	if [ "$4" -eq 0 ]; then
		! grep -q 'asprof.Crash' "$work/summary" || fail "$2 $3: a crash that the program handled is told"
		return 0
	fi
	grep -q ' 1 .*asprof.Crash' "$work/summary" || fail "$2 $3: no crash in $(cat "$work/summary")"
	[ -n "$told" ] && command -v jfr >/dev/null || return 0
	jfr print --stack-depth 64 --events asprof.Crash "$5" >"$work/event"
	grep -q "signal = $4\$" "$work/event" && grep -q "$told" "$work/event" && grep -q "way=$2" "$work/event" ||
		fail "$2 $3: $(cat "$work/event")"
}

# (gdb and Java for each would take long.)
told=crash_here
each builtin segv '' 11
each builtin abort thread 6
each builtin trap '' 5
told=overflow
each builtin overflow '' 11
told=
for way in bus:7 ill:4 fpe:8 abort:6 31:31 24:24 25:25 3:3; do
	each builtin "${way%:*}" '' "${way#*:}"
done
for way in segv bus abort; do
	each builtin $way handled 0
done
for engine in $(engines); do
	[ "$engine" != builtin ] || continue
	told=crash_here
	each "$engine" segv '' 11
	each "$engine" abort thread 6
	told=
	each "$engine" bus '' 7
	each "$engine" segv handled 0
done

# Not recorded if the setting is off.
run with env ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_LOCAL_DIR="$work/none" ASPROF_AGENT_START_DELAY=0 \
	ASPROF_AGENT_CRASH=off LD_PRELOAD="$preload" "$crashes" segv
[ ! -e "$work/none" ] || [ -z "$(find "$work/none" -name '*.jfr')" ] || fail "CRASH=off: $(ls -A "$work/none")"
