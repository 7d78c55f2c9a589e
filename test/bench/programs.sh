#!/bin/bash
# What the agent costs real programs at its default settings: sqlite3 on a large query, and
# redis-server under redis-benchmark, bare and preloaded in turn; and the memory it adds.
#
# A machine is busy now and then: each figure is the median of ROUNDS pairs (21), with the quartiles
# in brackets, and CPU time stands beside time, which includes the agent's own. PROGRAMS="sqlite3
# redis" runs those alone.
set -eu
B=$(cd "${B:-build}" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
servers=()
stop() {
	for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap stop EXIT
rounds=${ROUNDS:-21}
preloaded=(LD_PRELOAD="$B/libasprof_preload.so" ASPROF_AGENT_ENGINE=builtin
	ASPROF_AGENT_LOCAL_DIR="$work/reports")

wanted() {
	[[ " ${PROGRAMS:-sqlite3 redis} " == *" $1 "* ]]
}

sqlite() {
	local variables

	printf -v variables ',%s' "${preloaded[@]}"
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -o "$work/in_turn" test/programs/in_turn.c
	echo "sqlite3, a large query ($rounds rounds)"
	"$work/in_turn" "$rounds" 1 "bare:PATH=$PATH" "preloaded:PATH=$PATH$variables" \
		-- sqlite3 :memory: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c
			WHERE x < 5000000) SELECT sum(x * x % 7), count(DISTINCT x % 1000) FROM c"
}

# serve NAME [VARIABLE=value…]: a server on a socket of its own.
serve() {
	local name=$1

	shift
	env "$@" redis-server --port 0 --unixsocket "$work/$name.sock" --save '' \
		>"$work/$name.log" 2>&1 &
	servers+=($!)
	echo $! >"$work/$name.pid"
	for _ in $(seq 100); do
		[ -S "$work/$name.sock" ] && return
		sleep 0.05
	done
	echo "redis-server did not come up"
	exit 1
}

# Nanoseconds that all threads of server NAME have run.
cpu_ns() {
	cat /proc/"$(cat "$work/$1.pid")"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# turn NAME: the microseconds of a request, and its CPU nanoseconds.
turn() {
	local before after

	before=$(cpu_ns "$1")
	redis-benchmark -s "$work/$1.sock" -q -t get -n "$requests" -c 20 --csv >"$work/said"
	after=$(cpu_ns "$1")
	awk -F'"' -v cpu=$((after - before)) -v n="$requests" \
		'$2 == "GET" { print 1e6 / $4, cpu / n }' "$work/said"
}

# quartiles COLUMN COLUMN: of the first over the second in each line that is read.
quartiles() {
	awk -v a="$1" -v b="$2" '{ print $a / $b }' | sort -n | awk '{ v[NR] = $1 }
		function rank(q) { return v[1 + int((NR - 1) * q / 4)] }
		END { printf "%.3f (%.3f %.3f)", rank(2), rank(1), rank(3) }'
}

resident() {
	awk '/^VmRSS/ { print $2 }' "/proc/$(cat "$work/$1.pid")/status"
}

redis() {
	local requests=${REQUESTS:-60000} bare ours

	serve bare
	serve ours "${preloaded[@]}"
	turn bare >/dev/null
	turn ours >/dev/null
	# Who is first changes with each round.
	for round in $(seq "$rounds"); do
		if [ $((round % 2)) = 0 ]; then
			bare=$(turn bare) ours=$(turn ours)
		else
			ours=$(turn ours) bare=$(turn bare)
		fi
		echo "$bare $ours"
	done >"$work/turns"
	echo "redis-server, GET under redis-benchmark ($rounds rounds of $requests)"
	echo "  times            $(quartiles 3 1 <"$work/turns")"
	echo "  times CPU time   $(quartiles 4 2 <"$work/turns")"
	echo "  kB resident      $(resident bare) bare, +$(($(resident ours) - $(resident bare)))"
}

if wanted sqlite3 && command -v sqlite3 >/dev/null; then sqlite; fi
if wanted redis && command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	redis
fi
