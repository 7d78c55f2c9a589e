#!/bin/bash
# What sampling native memory at 512k takes from the throughput of real programs: each does a
# fixed work again and again, bare and sampled in turn, and the processor time of that is taken from
# within, or from the server's threads, once the agent is up; the agent's own is part of it.
# PROGRAMS names those to try, ALLOCATOR a library that is preloaded in both cases.
set -eu
B=$(cd "${B:-build}" && pwd)
work=$(mktemp -d)
servers=
stop() {
	for pid in $servers; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap stop EXIT
rounds=${ROUNDS:-21} allocator=${ALLOCATOR:-}
export ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_START_DELAY=1ms ASPROF_AGENT_NATIVE_MEM=512k \
	ASPROF_AGENT_LOCAL_DIR="$work/reports"

cat >"$work/work.py" <<'PYTHON'
import time
def work():
    d = {str(i): [i] * (i % 40) for i in range(60000)}
    return sum(len(v) for v in d.values()) + len(" ".join(d).split())
end = time.perf_counter() + 0.4
while time.perf_counter() < end: work()
start = time.process_time()
for i in range(8): work()
print(time.process_time() - start)
PYTHON
cat >"$work/work.js" <<'JS'
function work() {
	const m = new Map();
	for (let i = 0; i < 40000; i++) m.set("k" + i, Buffer.allocUnsafeSlow(64 + i % 500));
	return JSON.stringify([...m.keys()]).length;
}
const end = performance.now() + 400;
while (performance.now() < end) work();
const start = process.cpuUsage();
for (let i = 0; i < 10; i++) work();
const spent = process.cpuUsage(start);
console.log((spent.user + spent.system) / 1e6);
JS
rows() {
	echo "with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
		select count(distinct hex(i * 7919) || i % 97), sum(length(printf('%d-%d', i, i * 3))) from n;"
}
{ rows 300000; echo .timer on; rows 500000; } >"$work/work.sql"

# Each prints the seconds of its work; $1 is the way it runs.
time_sqlite3() { sqlite3 :memory: <"$work/work.sql" | awk '/^Run Time/ { print $6 + $8 }'; }
time_python3() { PYTHONMALLOC=malloc python3 "$work/work.py"; }
time_node() { node "$work/work.js"; }
time_redis() {
	[ -S "$work/$1.sock" ] || serve "$1"
	spent "$work/$1.pid" >"$work/before"
	LD_PRELOAD='' redis-benchmark -s "$work/$1.sock" -q -t set,get -d 200 -r 100000 -n 40000 -c 20 >/dev/null
	spent "$work/$1.pid" | paste "$work/before" - | awk '{ print $2 - $1 }'
}

# spent FILE: seconds of processor time of all threads of the process whose number is in FILE.
spent() {
	cat "/proc/$(cat "$1")"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.6f\n", ns / 1e9 }'
}

serve() {
	redis-server --port 0 --unixsocket "$work/$1.sock" --save '' >"$work/$1.log" 2>&1 &
	servers="$servers $!"
	echo $! >"$work/$1.pid"
	for _ in $(seq 100); do
		[ -S "$work/$1.sock" ] && break
		sleep 0.05
	done
	sleep 0.5
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# turn PROGRAM WAY: time it, after the others of this way.
turn() {
	case $2 in
	bare) LD_PRELOAD=$allocator time_$1 bare ;;
	sampled) LD_PRELOAD="$B/libasprof_preload.so $allocator" time_$1 sampled ;;
	esac >>"$work/$1.$2"
}

for program in ${PROGRAMS:-sqlite3 python3 node redis}; do
	command -v "${program/%redis/redis-server}" >/dev/null || continue
	# Now one is first and now the other.
	for ((round = 0; round < rounds; round++)); do
		((round % 2)) && ways="sampled bare" || ways="bare sampled"
		for way in $ways; do
			turn "$program" "$way"
		done
	done
	paste "$work/$program.bare" "$work/$program.sampled" | awk '{ print $1 / $2 }' >"$work/ratios"
	printf '%-10s bare %.3f s, sampled %.3f s, throughput %.3f times (medians of %d)\n' "$program" \
		"$(median "$work/$program.bare")" "$(median "$work/$program.sampled")" \
		"$(median "$work/ratios")" "$rounds"
done
