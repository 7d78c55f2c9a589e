#!/bin/bash
# If the kernel lacks a system call, as old ones do, or a container's filter refuses it, the program behaves as
# without the agent. It is profiled in another way, or a line gives the reason.
. "$(dirname "$0")/agent.inc"

lacking=$(program lacking) everyday=$(program everyday)
"$lacking" 4.14 true || skip "no seccomp filter may be set here"
[ "$("$everyday")" = out ] || fail "fails by itself"

# lacks ENGINE LINE CALLS: stderr matches LINE. If LINE is empty, the program must be profiled fully.
lacks() {
	local what="without $3, $1" line=$2 own status
	own=$(mktemp -d "$work/XXXXXX")
	profiled "$own/reports" "$1" PROCESS=everyday CPU_INTERVAL=5ms NATIVE_MEM=1k FORK=off \
		"$lacking" "$3" "$everyday" >"$own/out" 2>"$own/err"
	status=$?
	[ "$status $(cat "$own/out")" = "5 out" ] || fail "$what: status $status, $(cat "$own/out" "$own/err")"
	if [ -n "$line" ]; then
		grep -q "$line" "$own/err" && [ "$(wc -l <"$own/err")" -eq 1 ] || fail "$what: $(cat "$own/err")"
		return 0
	fi
	[ ! -s "$own/err" ] || fail "$what: $(cat "$own/err")"
	"$agent" collapsed --cpu "$own/reports" | grep -q 'work;burn' || fail "$what: the thread is not there"
	"$agent" collapsed --nativemem "$own/reports" | grep -q 'work;keep' || fail "$what: its memory is not there"
}

running=()
# in_turn WORDS...: run these in parallel, at most two more than there are processors.
in_turn() {
	if [ ${#running[@]} -ge $(($(nproc) + 2)) ]; then
		wait "${running[0]}" || exit 1
		running=("${running[@]:1}")
	fi
	"$@" &
	running+=($!)
}

no_timer='some threads get no CPU samples: .*timer_create: Function not implemented'
refused=$(printf '+%s,' close_range copy_file_range execveat memfd_create openat2 perf_event_open pidfd_getfd \
	pidfd_open process_vm_readv renameat2)
mapfile -t calls < <("$lacking" --list)
for call in "${calls[@]}"; do
	line=
	[ "$call" != timer_create ] || line=$no_timer
	in_turn lacks builtin "$line" "$call"
done
for engine in $(engines); do
	[ "$engine" = builtin ] || no_timer='start failed: .*; profiling is off in this process'
	in_turn lacks "$engine" "" 4.14
	in_turn lacks "$engine" "" 3.10
	in_turn lacks "$engine" "" "3.10,prlimit64,fallocate,process_vm_readv,perf_event_open"
	in_turn lacks "$engine" "" "${refused%,}"
	in_turn lacks "$engine" "$no_timer" 3.10,timer_create
done
for one in "${running[@]}"; do
	wait "$one" || exit 1
done
echo ok
