#!/bin/bash
# The cost of profiling a forked worker, if throughput is no measure because other programs use the machine: the
# agent's share of the CPU time of PostgreSQL's workers. The kernel counts the CPU time of the agent's threads. For
# the workers' own threads, perf counts samples in the library or called from there (of wrapped functions without
# their callees), and in the handler of the agent's signals, with the kernel's part. One client for each processor, on
# connections that stay, for SECONDS_OF_LOAD (30); with only the masters profiled (FORK=off), and with the workers as
# well, at the default settings.
#
#   ENGINES="builtin async-profiler"  these engines
set -eu
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
for_everybody
[ "$(id -u)" = 0 ] || skip "needs root"
# shellcheck disable=SC2034 # is for needs
server=postgres
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
needs postgres initdb pgbench setpriv perf || exit 77
seconds=${SECONDS_OF_LOAD:-30}
as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
main='' client=''
trap '[ -z "$client$main" ] || kill $client $main; rm -rf "$work"' EXIT

until_it() {
	for _ in $(seq 600); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.05
	done
	fail "in vain: $* $(tail -n 5 "$work/log")"
}

# begin on|off: with the workers profiled or not.
begin() {
	port=$(free_port)
	mkdir -p "$work/out" "$work/pg"
	chmod 0777 "$work/out"
	chown postgres "$work/pg"
	[ -e "$work/pg/base" ] || "${as[@]}" initdb -D "$work/pg" --no-sync -A trust >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	env LD_PRELOAD="$preload" ASPROF_AGENT_ENGINE="$engine" ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-libasyncProfiler.so}" \
		ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_FORK="$1" \
		"${as[@]}" postgres -D "$work/pg" -k "$work/pg" -h 127.0.0.1 -p "$port" -F >"$work/log" 2>&1 &
	main=$!
	until_it pg_isready -h 127.0.0.1 -p "$port"
	pgbench -U postgres -h 127.0.0.1 -p "$port" -q -i -s 2 postgres >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	rm -f "$work/ask" "$work/told"
	mkfifo "$work/ask" "$work/told"
	exec 8<>"$work/ask" 9<>"$work/told"
	python3 test/bench/postgres_client.py "$port" "$(nproc)" <&8 >&9 &
	client=$!
	slice 1 >/dev/null
	# The processes of the connections.
	workers=$(pgrep -P "$main" -f 'postgres: postgres postgres')
	for worker in $workers; do
		[ "$1" = off ] || until_it "$agent" status "$worker"
	done
	slice 1 >/dev/null
}

end() {
	kill "$client"
	wait "$client" 2>/dev/null || true
	kill -INT "$main"
	wait "$main" || true
	client='' main=''
}

# slice SECONDS: prints the number of responses, and the seconds.
slice() {
	echo "$1" >&8
	read -r -u 9
	echo "$REPLY"
}

# Nanoseconds of CPU time: of the workers' processes, and of the agent's threads in them.
cpu() {
	local worker task name ns sum=0 own=0

	for worker in $workers; do
		for task in "/proc/$worker/task/"*; do
			read -r ns _ <"$task/schedstat"
			read -r name <"$task/comm"
			sum=$((sum + ns))
			case $name in asprof*) own=$((own + ns)) ;; esac
		done
	done
	echo "$sum $own"
}

# share PATTERN ARGUMENT...: in perf's report, the sum of the first column of the matching lines.
share() {
	perf report -i "$work/perf" -g none "${@:2}" 2>/dev/null |
		awk -v pattern="$1" '/^ *[0-9.]+%/ && $0 ~ pattern { sum += $1 } END { printf "%.3f", sum }'
}

# A line for FORK=$1.
measure() {
	local -a before after

	perf record -q -e cpu-clock -F 4000 -g -t "$(tr '\n' , <<<"$workers" | sed 's/,*$//')" -o "$work/perf" \
		-- sleep "$seconds" >"$work/said" 2>&1 &
	perf=$!
	read -ra before <<<"$(cpu)"
	slice "$seconds" >"$work/answered"
	read -ra after <<<"$(cpu)"
	wait "$perf"
	awk -v all=$((after[0] - before[0])) -v own=$((after[1] - before[1])) -v wraps="$(share libasprof_preload --no-children --sort dso)" \
		-v handler="$(share ' on_signal$' --children --sort sym)" -v what="$server, $engine, FORK=$1" \
		'{ printf "%s: %.0f answers a second; our threads %.2f%%, our code in their own %.2f%%, the handler %.3f%%\n",
			what, $1 / $2, 100 * own / all, wraps, handler }' "$work/answered"
}

for engine in ${ENGINES:-$(engines)}; do
	for fork in off on; do
		begin "$fork"
		measure "$fork"
		end
	done
done
