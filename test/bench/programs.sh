#!/bin/bash
# The cost of the agent for real programs: bare, bare once more for the error of the method, at the default settings,
# and with native memory sampled at 512k.
#
# A program's placement in memory makes it some percent faster or slower, and so do other programs. So each is started
# STARTS times (20), and does its work in slices, in turn with the others, on the one processor that it shares with
# the agent's thread. Ratios are medians over the starts, with their 95 percent intervals in brackets; CPU time
# includes the agent's own. exec.sh measures the start. PROGRAMS names those to run, and ALLOCATOR a library that is
# preloaded in each case.
set -eu
. "$(dirname "$0")/../system/agent.inc"
starts=${STARTS:-20} allocator=${ALLOCATOR:-}
default="LD_PRELOAD=$preload${allocator:+ $allocator},ASPROF_AGENT_ENGINE=builtin"
default+=",ASPROF_AGENT_LOCAL_DIR=$work/reports"
settings=("bare:LD_PRELOAD=$allocator" "bare again:LD_PRELOAD=$allocator" "default:$default"
	"memory at 512k:$default,ASPROF_AGENT_NATIVE_MEM=512k")
slices=$(program slices)

wanted() {
	[[ " ${PROGRAMS:-sqlite3 sqlite3-allocates python3 node redis} " == *" $1 "* ]]
}

# in_slices REQUEST COMMAND [ARGUMENT…]: a slice is one REQUEST.
in_slices() {
	local request=$1

	shift
	"$slices" "$starts" 15 "$request"$'\n' "${settings[@]/:/:PATH=$PATH,}" -- "$@"
}

# Reports over a file with two hundred thousand orders.
run_sqlite3() {
	sqlite3 "$work/orders.db" "
		CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, country TEXT);
		CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, day INTEGER, amount REAL,
			note TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
			INSERT INTO customers SELECT i, 'customer ' || i, 'country ' || (i * 7919 % 60) FROM n;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
			INSERT INTO orders SELECT i, i * 7919 % 50000 + 1, i * 31 % 365, i * 17 % 1000 / 10.0,
				'order number ' || i FROM n;
		CREATE INDEX by_customer ON orders(customer);"
	in_slices "SELECT country, count(*), sum(amount), avg(amount), max(note)
			FROM orders JOIN customers ON customers.id = orders.customer
			WHERE day BETWEEN 30 AND 40 GROUP BY country ORDER BY 3 DESC LIMIT 1;" \
		sqlite3 "$work/orders.db"
}

# The worst case: for each row it allocates 4 times and takes 9 locks.
run_sqlite3-allocates() {
	in_slices "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			SELECT count(DISTINCT hex(i * 7919) || i % 97), sum(length(printf('%d-%d', i, i * 3)))
			FROM n;" \
		sqlite3 :memory:
}

run_python3() {
	cat >"$work/work.py" <<-'PYTHON'
		import collections, json, re, sys
		rows = [{"id": i, "name": f"row {i}", "tags": [f"a{i % 7}", f"b{i % 11}"]} for i in range(2000)]
		for request in sys.stdin:
		    words = collections.Counter()
		    for i in range(5):
		        text = json.dumps(rows)
		        words.update(re.findall(r"[ab]\d+", text))
		        sorted(json.loads(text), key=lambda row: row["name"])
		    print(words.most_common(3), flush=True)
	PYTHON
	in_slices go python3 "$work/work.py"
}

run_node() {
	cat >"$work/work.js" <<-'JS'
		const { createHash } = require("crypto");
		const rows = Array.from({ length: 500 }, (_, i) => ({ id: i, name: "row " + i, tags: ["a" + i % 7] }));
		require("readline").createInterface({ input: process.stdin }).on("line", () => {
			let sum = 0;
			for (let i = 0; i < 60; i++) {
				const text = JSON.stringify(rows), body = Buffer.from(text);
				sum += JSON.parse(text).length + createHash("sha256").update(body).digest()[0];
			}
			console.log(sum);
		});
	JS
	in_slices go node "$work/work.js"
}

# The command becomes the server; its child passes the requests on, by redis-benchmark, from another processor.
run_redis() {
	cat >"$work/redis.sh" <<-'BASH'
		socket=$1/$$.sock
		exec 3<&0 4>&1 >"$1/redis.log" 2>&1
		pass_on() {
			until [ -S "$socket" ]; do sleep 0.01; done
			while read -r request <&3; do
				redis-benchmark -s "$socket" -t set,get -d 200 -r 100000 -n 10000 -c 20 -q
				echo done >&4
			done
			redis-cli -s "$socket" shutdown nosave
		}
		LD_PRELOAD='' pass_on &
		taskset -pc 0 $! >&2
		exec redis-server --port 0 --unixsocket "$socket" --save '' 3<&- 4>&-
	BASH
	in_slices go bash "$work/redis.sh" "$work"
}

for program in sqlite3 sqlite3-allocates python3 node redis; do
	command=${program%-*}
	wanted "$program" && command -v "${command/%redis/redis-server}" >/dev/null || continue
	echo "$program${allocator:+ with $allocator} ($starts starts)"
	"run_$program"
done
