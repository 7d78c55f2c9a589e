#!/bin/bash
# attach and detach ROUNDS times (400) in programs that check themselves: a service in Go with 10,000 goroutines, redis,
# nginx, node, Python, a JVM, a program with 1,000 threads. Nothing of them fails, and nothing is left in them. Then the
# tracer is killed at each of its requests (strace injects the signal): only during its first system call in the thread may
# the program be lost.
. "$(dirname "$0")/../system/agent.inc"
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"
rounds=${ROUNDS:-400}

# What stays the same in a program that does the same. (Go's own profiler has a timer by SIGPROF for each thread.)
traces() {
	grep -c 'r-xp\|--xp' "/proc/$1/maps"
	grep -E '^Sig(Cgt|Ign)' "/proc/$1/status"
	grep '^signal' "/proc/$1/timers" | grep -vc '^signal: 27/'
}

# rounds_in NAME PID ROUNDS
rounds_in() {
	local name=$1 pid=$2 failed=0
	traces "$pid" >"$work/before"
	for ((i = 0; i < $3; i++)); do
		"$agent" attach "$pid" --cpu 2ms --wall 10ms 2>"$work/err" || { failed=$((failed + 1)) && cat "$work/err"; }
		[ $((i % 10)) != 0 ] || sleep 0.2
		"$agent" detach "$pid" 2>"$work/err" || { failed=$((failed + 1)) && cat "$work/err"; }
		kill -0 "$pid" 2>/dev/null || fail "$name: it ended in round $i"
	done
	traces "$pid" >"$work/after"
	echo "$name: $3 rounds, $failed failed"
	[ $failed = 0 ] || fail "$name: $failed of $3 rounds failed"
	cmp -s "$work/before" "$work/after" || fail "$name: $(diff "$work/before" "$work/after")"
}

# begin COMMAND...: start it with its input open. Its process is $pid.
begin() {
	mkfifo "$work/input"
	"$@" <"$work/input" >"$work/out" 2>&1 &
	pid=$!
	exec 7>"$work/input"
	rm "$work/input"
}

# with_input NAME ROUNDS COMMAND...: the program ends with its input; its last line is "ok".
with_input() {
	local name=$1 count=$2
	shift 2
	begin "$@"
	sleep 2
	rounds_in "$name" $pid "$count"
	exec 7>&-
	wait $pid
	status=$?
	[ $status = 0 ] && [ "$(tail -n 1 "$work/out")" = ok ] || fail "$name: status $status: $(tail -n 5 "$work/out")"
}

for flag in "" -static; do
	program=$(program attached $flag) || exit 1
	with_input "C $flag" "$rounds" "$program"
done
! command -v musl-gcc >/dev/null || for flag in "" -static; do
	program=$(CC=musl-gcc program attached $flag) || exit 1
	with_input "musl $flag" "$rounds" "$program"
done
with_input "1,000 threads" $((rounds / 10)) "$(program attached)" 1000
if command -v go >/dev/null && CGO_ENABLED=0 GO111MODULE=off go build -o "$work/service" test/programs/attached.go 2>"$work/err"; then
	with_input Go "$rounds" "$work/service"
else
	echo "Go was left out: $(head -n 1 "$work/err")"
fi
! command -v python3 >/dev/null || with_input Python "$rounds" python3 test/programs/attached.py
! command -v node >/dev/null || with_input node "$rounds" node test/programs/attached.js
! command -v java >/dev/null || with_input JVM $((rounds / 4)) java test/programs/Attached.java

if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	(cd "$work" && exec redis-server --port 0 --unixsocket "$work/redis" --save '' >/dev/null) &
	pid=$!
	sleep 1
	redis-benchmark -s "$work/redis" -n 1000000000 -q -c 20 -t set,get >/dev/null 2>&1 &
	load=$!
	rounds_in redis $pid "$rounds"
	[ "$(redis-cli -s "$work/redis" ping)" = PONG ] || fail "redis does not answer"
	kill $load $pid
	wait $load $pid 2>/dev/null
fi

command -v strace >/dev/null || skip "all rounds passed; no strace for the rest"
program=$(program attached)
lost=0 survived=0
for call in {1..60}; do
	begin "$program"
	sleep 0.1
	strace -f -o "$work/trace" -e trace=ptrace -e "inject=ptrace:signal=SIGKILL:when=$call" \
		"$agent" attach $pid >/dev/null 2>"$work/err"
	sleep 0.1
	exec 7>&-
	for _ in {1..50}; do
		kill -0 $pid 2>/dev/null || break
		sleep 0.02
	done
	kill -9 $pid 2>/dev/null # its signals are blocked: it waits for no more
	wait $pid 2>/dev/null && survived=$((survived + 1)) || lost=$((lost + 1))
	grep -q 'killed by SIGKILL' "$work/trace" || break
done
echo "the tracer was killed at $call requests: $survived programs continued, $lost were lost"
[ $lost -le 7 ] && [ $survived -ge 20 ] || fail "$lost programs were lost"
