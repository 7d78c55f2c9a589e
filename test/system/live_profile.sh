#!/bin/bash
# `asprof-agent profile` samples at its own intervals. The agent restores the settings when the client ends, also by
# SIGKILL. Profiles at the same time do not disturb each other. The name of the output file chooses its format.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have python3
program=$(program live)
export XDG_RUNTIME_DIR="$work"

# interval PID NAME WANTED: the process has that setting now.
interval() {
	"$agent" status "$1" --json >"$work/body" 2>/dev/null && [ "$(status settings "$2")" = "$3" ]
}

# soon PID NAME WANTED WHAT: wait until it has it.
soon() {
	until_true interval "$1" "$2" "$3" ||
		fail "$4: $2 is not $3: $("$agent" status "$1" | grep -E 'settings|error')"
}

# client PID OPTION...: start a profile that lasts until it is ended; its pid is $client.
client() {
	"$agent" profile "$@" -t 10m top >"$work/client.out" 2>&1 &
	client=$!
	hard="$hard $client"
}

# kill_client NUMBER: end it by SIGKILL.
kill_client() {
	kill -KILL "$1"
	wait "$1" 2>/dev/null
}

one_engine() {
	engine=$1
	shift
	held "$engine" "$@" CPU_INTERVAL=100ms WALL_INTERVAL=off "$program" 32
	soon "$pid" cpu_interval_ns 100000000 "$engine starts"

	client "$pid"
	first=$client
	soon "$pid" cpu_interval_ns 10000000 "$engine: a profile"
	client "$pid" --cpu 2ms
	soon "$pid" cpu_interval_ns 2000000 "$engine: a second profile"
	"$agent" set "$pid" CPU_INTERVAL=50ms || fail "$engine: set"
	interval "$pid" cpu_interval_ns 2000000 || fail "$engine: set disturbs a profile"
	kill_client "$client"
	soon "$pid" cpu_interval_ns 10000000 "$engine: the first goes on"
	client "$pid" --wall
	soon "$pid" wall_interval_ns 10000000 "$engine: wall"
	kill_client "$first"
	soon "$pid" cpu_interval_ns 50000000 "$engine: the first was killed"
	interval "$pid" wall_interval_ns 10000000 || fail "$engine: the first has ended the third"
	kill_client "$client"
	soon "$pid" wall_interval_ns null "$engine: all were killed"
}

one_engine builtin NATIVE_MEM=4k
# Live allocations are still known: nothing was restarted.
"$agent" heap "$pid" collapsed --total >"$work/folded" || fail "heap"
within 5 $((32 << 20)) "$(samples 'main;hold' <"$work/folded")" "heap after profiles"

for name in jfr html pb.gz collapsed; do
	"$agent" profile "$pid" -t 0.5s -o "$work/cpu.$name" >"$work/text" 2>&1 || fail "$name: $(cat "$work/text")"
done
"$agent" summary "$work/cpu.jfr" | grep -q 'Sampled .*cpu 10 ms' || fail "jfr: $("$agent" summary "$work/cpu.jfr")"
grep -q '<html\|<!doctype' "$work/cpu.html" || fail "html"
gzip -t "$work/cpu.pb.gz" || fail "pb.gz"
# On a busy machine the program may have computed too little.
spin_is_sampled() {
	grep -q 'main;spin' "$work/cpu.collapsed" ||
		{ "$agent" profile "$pid" -t 1s -o "$work/cpu.collapsed" 2>/dev/null && false; }
}
until_true spin_is_sampled || fail "collapsed: $(cat "$work/cpu.collapsed")"
"$agent" profile "$pid" -t 0.5s --cpu --wall --mem 64k -o "$work/all.jfr" || fail "all"
"$agent" summary "$work/all.jfr" | grep -q 'Sampled .*cpu 10 ms, wall 10 ms' || fail "$("$agent" summary "$work/all.jfr")"
"$agent" profile "$pid" -o "$work/cpu.txt" >"$work/text" 2>&1
[ $? -eq 2 ] || fail "a wrong name: $(cat "$work/text")"
"$agent" profile "$pid" --cpu --wall >"$work/text" 2>&1
[ $? -eq 2 ] || fail "two metrics: $(cat "$work/text")"
"$agent" profile "$pid" --cpu 5parsec >"$work/text" 2>&1 && fail "a wrong interval"
grep -q '5parsec is not accepted' "$work/text" || fail "a wrong interval: $(cat "$work/text")"
interval "$pid" cpu_interval_ns 50000000 || fail "the settings after all"

[ -z "${ASPROF_TEST_LIB:-}" ] || one_engine async-profiler ENGINE=async-profiler LIB="$ASPROF_TEST_LIB"

# Over TCP a change needs a token. Without one, the process's own intervals are used.
port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
held tcp LISTEN="127.0.0.1:$port" "$program" 1
soon "$pid" cpu_interval_ns 100000000 "TCP"
"$agent" profile "$pid" -t 0.5s >"$work/text" 2>&1 || fail "TCP without a token: $(cat "$work/text")"
grep -q 'sampled at its own intervals' "$work/text" || fail "TCP without a token: $(cat "$work/text")"
"$agent" profile "$pid" -t 0.5s --unchanged >"$work/text" 2>&1 || fail "TCP, unchanged: $(cat "$work/text")"
! grep -q 'sampled at its own intervals' "$work/text" || fail "TCP, unchanged: $(cat "$work/text")"
