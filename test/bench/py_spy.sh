#!/bin/bash
# The cost of profiling a Python program a hundred times a second: with the agent, which takes a sample each 10 ms of
# CPU time in addition to its defaults, and with py-spy, which runs on the other processor. In slices, like
# programs.sh. The agent's cost must be at most a third of py-spy's. The program has deep stacks, and threads that
# wait for work, like a Python server: py-spy stops the whole process while it reads each thread's stack.
#
#   STARTS=20  number of starts of each
#   DEPTH=40 POOL=16  depth of its calls, and number of waiting threads
#   PYTHON=/opt/venv/bin/python3  this interpreter, with py-spy in its directory
set -eu
. "$(dirname "$0")/../system/agent.inc"
starts=${STARTS:-20}
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
spy=$(command -v "$(dirname "${PYTHON:-$python}")/py-spy" || command -v py-spy) || skip "py-spy is not on this machine"
settings=("bare:PATH=$PATH" "bare again:PATH=$PATH"
	"ours:PATH=$PATH,LD_PRELOAD=$preload,ASPROF_AGENT_ENGINE=builtin,ASPROF_AGENT_LOCAL_DIR=$work/reports,ASPROF_AGENT_CPU_INTERVAL=10ms"
	"py-spy:PATH=$PATH,SPY=$spy")
slices=$(program slices)

cat >"$work/work.py" <<'P'
import concurrent.futures, sys, threading

depth, pool = int(sys.argv[1]), int(sys.argv[2])
gate = threading.Barrier(pool + 1)
threads = concurrent.futures.ThreadPoolExecutor(pool or 1)
for _ in range(pool):
    threads.submit(gate.wait)
gate.wait()

def shares(depth, n):
    return shares(depth - 1, n) if depth else sum(i * i % 7 for i in range(n))

def ranks(n):
    return sorted(({"id": i, "rank": i * n % 301} for i in range(n)), key=lambda row: row["rank"])[0]["id"]

for request in sys.stdin:
    print(sum(shares(depth, 500) + ranks(200) for _ in range(300)), flush=True)
P
cat >"$work/watched.sh" <<'B'
watches() {
	until grep -q ^python "/proc/$1/comm"; do sleep 0.01; done
	exec "$SPY" record --rate 100 --format raw --output /dev/null --duration 100000 --pid "$1" >>"$2/said" 2>&1
}
if [ -n "${SPY:-}" ]; then
	(
		taskset -pc 0 "$BASHPID"
		watches $$ "$1"
	) </dev/null >/dev/null &
fi
exec "${@:2}"
B
"$slices" "$starts" 15 go$'\n' "${settings[@]}" -- bash "$work/watched.sh" "$work" "$python" "$work/work.py" \
	"${DEPTH:-40}" "${POOL:-16}" >"$work/table" || {
	cat "$work/said"
	exit 1
}
cat "$work/table"
awk '$1 == "ours" { ours = $3 - 1 } $1 == "py-spy" { theirs = $3 - 1 }
	END { printf "  slower by %.2f%%, with py-spy by %.2f%%\n", ours * 100, theirs * 100 }' "$work/table"
