#!/bin/bash
# What the agent costs real programs: bare, at its default settings, and with native memory sampled
# at 512k, in turn.
#
# A machine is busy now and then: each figure is the median of ROUNDS (21), with the quartiles in
# brackets, beside time stands CPU time, which includes the agent's own, and then what the least of
# the times is to the least of the bare ones. PROGRAMS names those to run, and ALLOCATOR a library
# that is preloaded in each case. The start of the agent and its report at exit are part of what is
# measured, but for redis.
set -eu
. "$(dirname "$0")/../system/agent.inc"
servers=()
stop() {
	for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap stop EXIT
rounds=${ROUNDS:-21} allocator=${ALLOCATOR:-}
default="LD_PRELOAD=$preload${allocator:+ $allocator},ASPROF_AGENT_ENGINE=builtin"
default+=",ASPROF_AGENT_LOCAL_DIR=$work/reports"
settings=("bare:LD_PRELOAD=$allocator" "default:$default"
	"memory at 512k:$default,ASPROF_AGENT_NATIVE_MEM=512k")
in_turn=$(program in_turn)

wanted() {
	[[ " ${PROGRAMS:-sqlite3 sqlite3-allocates python3 node redis} " == *" $1 "* ]]
}

# in_turn COMMAND [ARGUMENT…]
in_turn() {
	"$in_turn" "$rounds" 1 "${settings[@]/:/:PATH=$PATH,}" -- "$@"
}

# Reports over a file with a million orders.
run_sqlite3() {
	sqlite3 "$work/orders.db" "
		CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, country TEXT);
		CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, day INTEGER, amount REAL,
			note TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
			INSERT INTO customers SELECT i, 'customer ' || i, 'country ' || (i * 7919 % 60) FROM n;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
			INSERT INTO orders SELECT i, i * 7919 % 50000 + 1, i * 31 % 365, i * 17 % 1000 / 10.0,
				'order number ' || i FROM n;
		CREATE INDEX by_customer ON orders(customer);"
	in_turn sqlite3 "$work/orders.db" "
		SELECT country, count(*), sum(amount), avg(amount), max(note)
			FROM orders JOIN customers ON customers.id = orders.customer
			WHERE day BETWEEN 30 AND 300 GROUP BY country ORDER BY 3 DESC;
		SELECT name, (SELECT sum(amount) FROM orders WHERE customer = customers.id) AS total
			FROM customers ORDER BY total DESC LIMIT 10;"
}

# The worst case: with each row it allocates 4 times and takes 9 locks.
run_sqlite3-allocates() {
	in_turn sqlite3 :memory: "
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
		SELECT count(DISTINCT hex(i * 7919) || i % 97), sum(length(printf('%d-%d', i, i * 3)))
			FROM n;"
}

run_python3() {
	cat >"$work/work.py" <<-'PYTHON'
		import collections, json, re
		rows = [{"id": i, "name": f"row {i}", "tags": [f"a{i % 7}", f"b{i % 11}"]} for i in range(2000)]
		words = collections.Counter()
		for i in range(400):
		    text = json.dumps(rows)
		    words.update(re.findall(r"[ab]\d+", text))
		    sorted(json.loads(text), key=lambda row: row["name"])
		print(words.most_common(3))
	PYTHON
	in_turn python3 "$work/work.py"
}

run_node() {
	cat >"$work/work.js" <<-'JS'
		const { createHash } = require("crypto");
		const rows = Array.from({ length: 500 }, (_, i) => ({ id: i, name: "row " + i, tags: ["a" + i % 7] }));
		let sum = 0;
		for (let i = 0; i < 5000; i++) {
			const text = JSON.stringify(rows), body = Buffer.from(text);
			sum += JSON.parse(text).length + createHash("sha256").update(body).digest()[0];
		}
		console.log(sum);
	JS
	in_turn node "$work/work.js"
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

# turn NAME: the microseconds of a SET and a GET, and the CPU nanoseconds of both.
turn() {
	local before after

	before=$(cpu_ns "$1")
	redis-benchmark -s "$work/$1.sock" -q -t set,get -d 200 -r 100000 -n "$requests" -c 20 --csv \
		>"$work/said"
	after=$(cpu_ns "$1")
	awk -F'"' -v cpu=$((after - before)) -v n="$requests" \
		'$2 ~ /^[SG]ET$/ { us += 1e6 / $4 } END { print us, cpu / n }' "$work/said"
}

# quartiles COLUMN COLUMN: of the first over the second in each line that is read.
quartiles() {
	awk -v a="$1" -v b="$2" '{ print $a / $b }' | sort -n | awk '{ v[NR] = $1 }
		function rank(q) { return v[1 + int((NR - 1) * q / 4)] }
		END { printf "%6.3f (%.3f %.3f)", rank(2), rank(1), rank(3) }'
}

# rank COLUMN QUARTER: the value there, when half of all are below it at QUARTER 2.
rank() {
	awk -v a="$1" '{ print $a }' | sort -n |
		awk -v q="$2" '{ v[NR] = $1 } END { print v[1 + int((NR - 1) * q / 4)] }'
}

resident_kb() {
	awk '/^VmRSS/ { print $2 }' "/proc/$(cat "$work/$1.pid")/status"
}

# Each server has its two columns in every line of `turns`.
run_redis() {
	local requests=${REQUESTS:-40000} variables round i least bare_least
	local n=${#settings[@]}

	for ((i = 0; i < n; i++)); do
		IFS=, read -ra variables <<<"${settings[i]#*:}"
		serve "$i" "${variables[@]}"
		turn "$i" >/dev/null
	done
	# Who is first changes with each round.
	for ((round = 0; round < rounds; round++)); do
		for ((i = round; i < round + n; i++)); do
			turn $((i % n)) >"$work/turn.$((i % n))"
		done
		cat "$work"/turn.? | paste -s -d ' ' >>"$work/turns"
	done
	bare_least=$(rank 1 0 <"$work/turns")
	printf '  %-20s %12s  %-21s  %-21s  %6s %9s\n' '' 'us' 'times' 'times the CPU time' 'least' 'kB'
	for ((i = 0; i < n; i++)); do
		least=$(rank $((2 * i + 1)) 0 <"$work/turns")
		printf '  %-20s %12.1f  %-21s  %-21s  %6.3f %9d\n' "${settings[i]%%:*}" \
			"$(rank $((2 * i + 1)) 2 <"$work/turns")" \
			"$(quartiles $((2 * i + 1)) 1 <"$work/turns")" \
			"$(quartiles $((2 * i + 2)) 2 <"$work/turns")" \
			"$(awk "BEGIN { print $least / $bare_least }")" "$(resident_kb "$i")"
	done
}

for program in sqlite3 sqlite3-allocates python3 node redis; do
	command=${program%-*}
	wanted "$program" && command -v "${command/%redis/redis-server}" >/dev/null || continue
	echo "$program${allocator:+ with $allocator} ($rounds rounds)"
	"run_$program"
done
