#!/bin/sh
# What the agent costs real programs at its default settings: sqlite3 on a large query, and
# redis-server under redis-benchmark, bare and preloaded in turn; and the memory it adds.
set -eu
B=$(cd "${B:-build}" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
servers=
stop() {
	for pid in $servers; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap stop EXIT
export ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_LOCAL_DIR="$work/reports"
preload=$B/libasprof_preload.so
rounds=${ROUNDS:-21}

if command -v sqlite3 >/dev/null; then
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -o "$work/in_turn" test/programs/in_turn.c
	echo "sqlite3, a large query (median of $rounds)"
	"$work/in_turn" "$rounds" 1 "bare:PATH=$PATH" \
		"preloaded:PATH=$PATH,LD_PRELOAD=$preload,ASPROF_AGENT_ENGINE=builtin,ASPROF_AGENT_LOCAL_DIR=$work/reports" \
		-- sqlite3 :memory: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c
			WHERE x < 5000000) SELECT sum(x * x % 7), count(DISTINCT x % 1000) FROM c"
fi

# serve NAME [PRELOAD]: a server on a socket of its own.
serve() {
	LD_PRELOAD=${2:-} redis-server --port 0 --unixsocket "$work/$1.sock" --save '' \
		>"$work/$1.log" 2>&1 &
	echo $! >"$work/$1.pid"
	servers="$servers $!"
	for _ in $(seq 100); do
		[ -S "$work/$1.sock" ] && return
		sleep 0.05
	done
	echo "redis-server did not come up"
	exit 1
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	serve bare
	serve preloaded "$preload"
	# Turns are short, and the first of each is left out.
	for round in $(seq 0 "$rounds"); do
		for name in bare preloaded; do
			redis-benchmark -s "$work/$name.sock" -q -t get -n 60000 -c 20 --csv |
				sed -n 's/^"GET","\([0-9.]*\)".*/\1/p' >"$work/rate"
			[ "$round" = 0 ] || cat "$work/rate" >>"$work/$name.rates"
		done
	done
	echo "redis-server, GET under redis-benchmark (median of $rounds)"
	for name in bare preloaded; do
		rate=$(median "$work/$name.rates")
		memory=$(awk '/^VmRSS/ { print $2 }' "/proc/$(cat "$work/$name.pid")/status")
		[ "$name" = bare ] && bare_rate=$rate bare_memory=$memory
		awk -v name="$name" -v r="$rate" -v b="$bare_rate" -v m="$memory" -v bm="$bare_memory" \
			'BEGIN { printf "  %-28s %10.0f a s   %6.3f times   %d kB resident (+%d)\n",
				name, r, r / b, m, m - bm }'
	done
fi
