#!/bin/bash
# With SANDBOX=stay profiling goes on in a seccomp sandbox where its filter lets the agent do what it does, and ends
# before one that does not, with a last report and a line that names the call. A program that only looks whether there
# is seccomp is profiled on, whatever the setting.
. "$(dirname "$0")/agent.inc"

stays=$(program stays)
"$stays" prctl log gettid >/dev/null
[ $? = 4 ] || skip "there is no seccomp here"

# ends ENGINE ARGUMENT...: as bare; what it said is in $work/err.
ends() {
	local engine=$1 said
	shift
	rm -rf "$work/reports" && mkdir "$work/reports"
	said=$(profiled "$work/reports" "$engine" CPU_INTERVAL=10ms SANDBOX="${sandbox:-stay}" "$stays" "$@" 2>"$work/err"
		echo $?)
	[ "$said" = "worked
4" ] || fail "$engine, $*: $said $(cat "$work/err")"
}

# stay ENGINE ARGUMENT...: likewise, with a report.
stay() {
	local engine=$1
	ends "$@"
	shift
	"$agent" collapsed --cpu "$work/reports" >"$work/stacks" 2>"$work/none" || : >"$work/stacks"
	[ "$(samples ';before(;|$)' <"$work/stacks")" -ge 5 ] || fail "$engine, $*: nothing of before: $(cat "$work/err" "$work/none")"
	inside=$(samples ';inside(;|$)' <"$work/stacks")
}

goes_on() {
	stay "$@"
	[ "$inside" -ge 5 ] && [ ! -s "$work/err" ] || fail "$*: $inside samples inside: $(cat "$work/err")"
}

# stands_down CALL ENGINE ARGUMENT...
stands_down() {
	local call=$1
	shift
	stay "$@"
	[ "$inside" -eq 0 ] || fail "$*: $inside samples inside"
	grep -q "the program enters a sandbox that refuses $call; profiling is off" "$work/err" &&
		[ "$(wc -l <"$work/err")" = 1 ] || fail "$*: $(cat "$work/err")"
}

for engine in $(engines); do
	for how in prctl threads; do
		goes_on "$engine" "$how" only
		goes_on "$engine" "$how" log futex process_vm_readv openat
	done
	goes_on "$engine" prctl errno process_vm_readv
	goes_on "$engine" prctl kill openat
	stands_down openat "$engine" threads kill openat
	stands_down process_vm_readv "$engine" prctl kill process_vm_readv socket
	sandbox=leave goes_on "$engine" asks
done
goes_on builtin asks
for action in trap trace notify; do
	stands_down rt_sigprocmask builtin prctl $action rt_sigprocmask
done
stands_down futex builtin prctl errno futex
# Of the agent's calls each fails that may; async-profiler would go on with what it did not get.
for engine in $(engines); do
	stay "$engine" prctl errno errors
done
ends builtin threads errno errors
[ -z "${ASPROF_TEST_LIB:-}" ] || stands_down openat async-profiler threads errno openat
echo ok
