#!/bin/sh
# At least 99% of the builtin engine's CPU stacks reach the thread's entry: in C, C++ and Rust without frame pointers,
# and in the distribution's programs. There are no exceptions for generated code or for the time when libraries are
# loaded.
#
# COMPLETENESS_SECONDS is about how much CPU time each program uses.
# Takes long.
. "$(dirname "$0")/agent.inc"

seconds=${COMPLETENESS_SECONDS:-1}
measured=0 left_out=
flags="-O2 -fomit-frame-pointer -pthread"

# measure NAME COMMAND...: fail unless COMMAND's stacks are complete.
measure() {
	name=$1
	shift
	profiled "$work/$name" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off "$@" \
		>/dev/null 2>"$work/err" || fail "$name: status $?: $(cat "$work/err")"
	check "$name"
}

check() {
	"$agent" collapsed --cpu "$work/$1" >"$work/$1.txt" || fail "$1: no samples"
	all=$(samples . <"$work/$1.txt")
	whole=$(samples '^(_start|__clone3|clone3|clone|__clone);' <"$work/$1.txt")
	echo "$1: $whole of $all"
	measured=$((measured + 1))
	[ "$all" -ge 100 ] || fail "$1: too few samples to tell"
	[ $((whole * 100)) -ge $((all * 99)) ] || {
		grep -vE '^(_start|__clone3|clone3|clone|__clone);' "$work/$1.txt" | head -n 20
		fail "$1: $whole of $all stacks reach the thread's entry"
	}
}

# at_hand COMMAND...: whether all are installed; if not, the message names the first as omitted.
at_hand() {
	for command in "$@"; do
		command -v "$command" >/dev/null || {
			left_out="$left_out $1"
			return 1
		}
	done
}

at_hand "${CC:-cc}" && {
	# shellcheck disable=SC2086 # words
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE $flags -s -o "$work/c" test/programs/stacks.c || exit 1
	measure C "$work/c" "$seconds"
}

at_hand "${CXX:-c++}" && {
	# shellcheck disable=SC2086 # words
	"${CXX:-c++}" -std=c++17 $flags -o "$work/cc" test/programs/stacks.cc || exit 1
	measure C++ "$work/cc" "$seconds"
}

at_hand rustc && {
	rustc -C opt-level=2 -C force-frame-pointers=no -o "$work/rs" test/programs/stacks.rs || exit 1
	measure Rust "$work/rs" "$seconds"
}

at_hand sqlite3 &&
	measure sqlite3 sqlite3 :memory: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL
		SELECT x + 1 FROM c WHERE x < $seconds * 2000000)
		SELECT count(DISTINCT printf('%d', x % 999)), max(x * x % 7919) FROM c"

# By its path: the first one in PATH may not be the distribution's.
at_hand /usr/bin/python3 &&
	measure python3 /usr/bin/python3 -c "
import time
import asyncio, ctypes, decimal, email.mime.text, hashlib, json, re, sqlite3, ssl, unittest
while time.process_time() < $seconds:
    json.loads(json.dumps([str(i) for i in range(2000)]))
    re.sub('[aeiou]', lambda m: m.group().upper(), 'education ' * 200)
    sum(decimal.Decimal(i) / 3 for i in range(300))
    hashlib.sha256(b'x' * 100000).digest()"

at_hand node && measure node node -e "
while (process.cpuUsage().user < $seconds * 1e6) {
	const rows = JSON.parse(JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ i, s: 't' + i }))));
	rows.sort((a, b) => b.i * 7919 % 2003 - a.i).map((r) => r.s.replace(/t(\d)/g, (_, d) => d + 't'));
}"

at_hand redis-server redis-benchmark redis-cli && {
	profiled "$work/redis" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off redis-server --port 0 \
		--unixsocket "$work/redis.sock" --save '' --dir "$work" >"$work/redis.log" 2>&1 &
	server=$!
	timeout 60 sh -c "until [ -S '$work/redis.sock' ]; do sleep 0.05; done" ||
		fail "redis-server did not come up: $(cat "$work/redis.log")"
	timeout 60 redis-benchmark -s "$work/redis.sock" -q -r 1000 -P 16 \
		-n "$(awk -v s="$seconds" 'BEGIN { print int(s * 80000) }')" \
		-t set,get,lpush,lrange_100,zadd,sadd,hset >/dev/null 2>&1 || fail "redis-benchmark failed"
	redis-cli -s "$work/redis.sock" shutdown nosave 2>/dev/null
	wait "$server" || fail "redis-server: status $?: $(cat "$work/redis.log")"
	check redis
}

[ -z "$left_out" ] || echo "not here, and left out:$left_out"
[ "$measured" -gt 0 ] || exit 77
