#!/bin/bash
# attach and detach ROUNDS times (400) in programs that check themselves: C and musl, static and dynamic; a program with 1,000
# threads, one that gets 1,000 signals a second, one that starts children all the time; a service in Go with 10,000
# goroutines, redis, nginx, node, Python, a JVM. Nothing of them fails. Mappings, threads, descriptors, signals and
# timers are as before. Then the tracer is killed at each of its requests (strace injects the signal): only during its
# first system call in the thread may the program be lost.
#
#   ONLY="redis JVM"  only these programs (C, musl, threads, signals, children, Go, Python, node, JVM, redis, nginx, killed)
. "$(dirname "$0")/../system/agent.inc"
. test/system/input.inc
. test/system/servers.inc
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"
rounds=${ROUNDS:-400}
total=0

# state PID HOW: what it has, one a line. HOW is "whole" for a program that neither allocates memory nor starts threads nor
# opens files meanwhile. Of others, memory that they allocate does not count, and their descriptors are counted by kind.
# (Go's own profiler has a timer by SIGPROF for each thread.)
state() {
	awk -v whole="$2" 'whole != "whole" && ($5 == 0 && $2 !~ /^r?-x/ || $2 ~ /wx/) { next }
		!/\[(heap|stack)\]/ { print "mapping", $0 }' "/proc/$1/maps"
	cat "/proc/$1/task"/*/status 2>/dev/null | grep -E '^(Sig(Pnd|Blk|Ign|Cgt)|ShdPnd|Name)'
	[ "$2" != whole ] || ls "/proc/$1/task"
	awk '/^ID/ { id = $2 } /^signal/ && !/ 27\// { print "timer", id, $2 }' "/proc/$1/timers"
	find "/proc/$1/fd" -type l -printf '%f %l\n' 2>/dev/null | sed 's/:\[[0-9]*\]//' |
		if [ "$2" = whole ]; then sed 's/^/descriptor /'; else cut -d' ' -f2- | sort | uniq -c | sed 's/^/descriptors /'; fi
}

# note_state PID HOW: what the program has at each of some moments, at any of them, and how much memory and threads.
note_state() {
	for _ in {1..20}; do
		state "$1" "$2" | sort -u
		sleep 0.1
	done >"$work/states"
	sort "$work/states" | uniq -c | sed -n 's/^ *20 //p' | grep -v '^descriptors' | sort >"$work/always"
	sort -u "$work/states" >"$work/ever"
	counts_before=$(counts "$1")
}

counts() { awk '/^VmSize/ { mib = int($2 / 1024) } /^Threads/ { print $2, mib }' "/proc/$1/status"; }

# check_state NAME PID HOW ROUNDS: it is as before at some moment.
check_state() {
	for _ in {1..200}; do
		state "$2" "$3" | sort -u >"$work/now"
		comm -13 "$work/ever" "$work/now" >"$work/more"
		comm -23 "$work/always" "$work/now" >"$work/less"
		[ -s "$work/more" ] || [ -s "$work/less" ] || break
		sleep 0.1
	done
	[ ! -s "$work/more" ] && [ ! -s "$work/less" ] ||
		fail "$1: more: $(head -n 20 "$work/more"); less: $(head -n 20 "$work/less")"
	# A region of the agent has a GiB.
	echo "$counts_before $(counts "$2")" | awk -v rounds="$4" '{ exit $3 > $1 + 8 || $4 > $2 + 512 * rounds }' ||
		fail "$1: threads and MiB: before $counts_before, now $(counts "$2")"
}

# rounds_in NAME PID ROUNDS HOW
rounds_in() {
	local name=$1 pid=$2 failed=0
	note_state "$pid" "$4"
	for ((i = 0; i < $3; i++)); do
		"$agent" attach "$pid" --cpu 2ms --wall 10ms 2>"$work/err" || { failed=$((failed + 1)) && cat "$work/err"; }
		[ $((i % 10)) != 0 ] || sleep 0.2
		"$agent" detach "$pid" 2>"$work/err" || { failed=$((failed + 1)) && cat "$work/err"; }
		kill -0 "$pid" 2>/dev/null || fail "$name: it ended in round $i"
	done
	echo "$name: $3 rounds, $failed failed"
	[ $failed = 0 ] || fail "$name: $failed of $3 rounds failed"
	check_state "$name" "$pid" "$4" "$3"
	total=$((total + $3))
}

wanted() { [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]; }

# with_input NAME ROUNDS HOW COMMAND...: the program ends with its input; its last line is "ok".
with_input() {
	local name=$1 count=$2 how=$3
	shift 3
	begin "$@"
	sleep 2
	rounds_in "$name" "$pid" "$count" "$how"
	end
}

# served NAME KIND SOCKET: rounds in the server $pid, which clients ask meanwhile.
served() {
	local server=$pid
	for _ in {1..500}; do
		[ ! -S "$3" ] || break
		sleep 0.02
	done
	begin python3 test/programs/asks.py "$2" "$3"
	sleep 1
	rounds_in "$1" "$server" "$rounds" other
	end
	kill "$server"
	wait "$server" || fail "$1: status $?"
}

for flag in "" -static; do
	wanted C && with_input "C $flag" "$rounds" whole "$(program attached $flag)"
	wanted musl && command -v musl-gcc >/dev/null &&
		with_input "musl $flag" "$rounds" whole "$(CC=musl-gcc program attached $flag)"
done
wanted threads && with_input "1,000 threads" $(((rounds + 9) / 10)) whole "$(program attached)" 1000
wanted signals && with_input "1,000 signals a second" "$rounds" whole "$(program attached)" signals
wanted children && with_input "children" "$rounds" whole "$(program attached)" children
if wanted Go && command -v go >/dev/null; then
	CGO_ENABLED=0 GO111MODULE=off go build -o "$work/service" test/programs/attached.go || fail "go"
	with_input Go "$rounds" other "$work/service"
fi
wanted Python && command -v python3 >/dev/null && with_input Python "$rounds" other python3 test/programs/attached.py
wanted node && command -v node >/dev/null && with_input node "$rounds" other node test/programs/attached.js
wanted JVM && command -v java >/dev/null && with_input JVM $(((rounds + 3) / 4)) other java test/programs/Attached.java
if wanted redis && command -v redis-server python3 >/dev/null; then
	(cd "$work" && exec redis-server --port 0 --unixsocket "$work/redis" --save '' >/dev/null) &
	pid=$!
	served redis redis "$work/redis"
fi
if wanted nginx && command -v nginx python3 >/dev/null; then
	nginx_configuration 1 "$work" 0 | sed "s,listen 127.*:0;,listen unix:$work/nginx;,; s/daemon off;/& master_process off;/
		s/access_log/keepalive_requests 1000000000; &/" >"$work/nginx.conf"
	nginx -e stderr -c "$work/nginx.conf" 2>"$work/log" &
	pid=$!
	served nginx http "$work/nginx"
fi
echo "all: $total rounds"

wanted killed || exit 0
command -v strace >/dev/null || skip "all rounds passed; no strace for the rest"
program=$(program attached)
lost=0 survived=0
for call in {1..60}; do
	begin "$program"
	strace -f -o "$work/trace" -e trace=ptrace -e "inject=ptrace:signal=SIGKILL:when=$call" \
		"$agent" attach "$pid" >/dev/null 2>"$work/err"
	sleep 0.1
	exec 7>&-
	for _ in {1..50}; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.02
	done
	kill -9 "$pid" 2>/dev/null # its signals are blocked: it waits for no more
	wait "$pid" 2>/dev/null && survived=$((survived + 1)) || lost=$((lost + 1))
	grep -q 'killed by SIGKILL' "$work/trace" || break
done
echo "the tracer was killed at $call requests: $survived programs continued, $lost were lost"
[ $lost -le 7 ] && [ $survived -ge 20 ] || fail "$lost programs were lost"
