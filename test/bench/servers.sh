#!/bin/bash
# The throughput of servers with forked workers, and their CPU time per response: without the agent, with only the
# master profiled (FORK=off), and with the workers as well, at the default settings. All of them run at once, and in
# each round each has a slice of a second in turn, so that other load affects all. Connections stay, so the cost of a
# process's start is not included. Ratios are medians over STARTS (7) starts of ROUNDS (10) rounds, with the minimum
# and the maximum of the starts in brackets. Other load affects CPU time less than throughput. The last column is the
# CPU time of the agent's threads.
#
#   SERVERS="nginx gunicorn apache postgres"  these servers
#   ENGINES="builtin async-profiler"          these engines
set -eu
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
for_everybody
PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin)
starts=${STARTS:-7} rounds=${ROUNDS:-10} cases="bare again masters workers"
declare -A main port client seen
trap '[ ${#main[*]} -eq 0 ] || kill ${main[*]}; [ ${#client[*]} -eq 0 ] || kill ${client[*]}; rm -rf "$work"' EXIT

median() {
	sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

begin_nginx() {
	needs nginx wrk || return 1
	nginx_configuration 4 "$1" "$2" >"$1/conf"
	command=(nginx -e stderr -c "$1/conf")
}

begin_apache() {
	needs apache2 wrk || return 1
	mkdir -p "$1/www" && seq 20000 >"$1/www/index.html" && chmod -R a+rX "$1/www"
	apache_configuration "$1/pid" "$1/log" "$2" "$1/www" >"$1/conf"
	cat >>"$1/conf" <<-END
		LoadModule deflate_module modules/mod_deflate.so
		LoadModule filter_module modules/mod_filter.so
		SetOutputFilter DEFLATE
		StartServers 16
		MinSpareServers 1
		MaxSpareServers 16
	END
	command=(apache2 -f "$1/conf" -DFOREGROUND)
}

begin_gunicorn() {
	needs gunicorn wrk || return 1
	gunicorn_application "$1"
	command=(gunicorn --chdir "$1" --log-level error -w 4 -b "127.0.0.1:$2" application)
}

begin_postgres() {
	local as=(setpriv --reuid=postgres --regid=postgres --clear-groups)

	needs postgres initdb pgbench setpriv || return 1
	if [ ! -e "$1/pg" ]; then
		mkdir "$1/pg" && chown postgres "$1/pg"
		"${as[@]}" initdb -D "$1/pg" --no-sync -A trust >"$1/log" 2>&1 || fail "initdb: $(cat "$1/log")"
	fi
	command=("${as[@]}" postgres -D "$1/pg" -k "$1/pg" -h 127.0.0.1 -p "$2" -F)
}

ready_http() {
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

ready_postgres() {
	pg_isready -q -h 127.0.0.1 -p "$1" || return 1
	psql -U postgres -h 127.0.0.1 -p "$1" -qc 'SELECT 1 FROM pgbench_accounts LIMIT 1' postgres >"$work/said" 2>&1 ||
		pgbench -U postgres -h 127.0.0.1 -p "$1" -q -i -s 2 postgres >"$work/said" 2>&1
}

# One connection for each processor, to the server of CASE: each is a process.
connect_postgres() {
	rm -f "$work/$1/ask" "$work/$1/told"
	mkfifo "$work/$1/ask" "$work/$1/told"
	python3 test/bench/postgres_client.py "${port[$1]}" "$(nproc)" <>"$work/$1/ask" >"$work/$1/told" &
	client[$1]=$!
}

slice_postgres() {
	{
		echo 1 >"$work/$1/ask"
		read -r
	} <"$work/$1/told"
	echo "$REPLY"
}

slice_http() {
	wrk -t 1 -c 16 -d 1s "http://127.0.0.1:${port[$1]}/" | awk '/requests in/ { n = $1 } /^Requests/ { print n, n / $2 }'
}

# Nanoseconds of CPU time: of the server whose first process is $1, and of the agent's threads in it.
cpu_of() {
	local process task name ns sum=0 own=0

	for process in "$1" $(pgrep -P "$1") $(pgrep -s "$1"); do
		for task in "/proc/$process/task/"*; do
			read -r ns _ <"$task/schedstat" && read -r name <"$task/comm" || continue
			[ -z "${seen[${task##*/}]:-}" ] || continue
			seen[${task##*/}]=1
			sum=$((sum + ns))
			case $name in asprof*) own=$((own + ns)) ;; esac
		done
	done 2>/dev/null
	seen=()
	echo "$sum $own"
}

# start CASE: on its own port.
start() {
	local settings=()

	mkdir -p "$work/$1/out"
	chmod 0777 "$work/$1" "$work/$1/out"
	port[$1]=$(free_port)
	"begin_$server" "$work/$1" "${port[$1]}" || return 1
	case $1 in
	masters) settings=(ASPROF_AGENT_FORK=off) ;;
	workers) settings=(ASPROF_AGENT_FORK=on) ;;
	esac
	[ ${#settings[@]} -eq 0 ] || settings+=(LD_PRELOAD="$preload" ASPROF_AGENT_ENGINE="$engine"
		ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-libasyncProfiler.so}" ASPROF_AGENT_LOCAL_DIR="$work/$1/out")
	env "${settings[@]}" setsid "${command[@]}" >"$work/$1/said" 2>&1 &
	main[$1]=$!
	for _ in $(seq 600); do
		"ready_$kind" "${port[$1]}" && return
		sleep 0.05
	done
	fail "$server, $1: is not ready: $(cat "$work/$1/said")"
}

# The rounds of a start: a line with a number for each case in its files. CPU time is added up over them.
measure() {
	local case round answered
	local -a before after

	for case in $cases; do
		rm -f "$work/$case.rates"
		[ $kind != postgres ] || connect_postgres "$case"
		"slice_$kind" "$case" >/dev/null
	done
	sleep 1 # all are profiled by now
	for ((round = 0; round < rounds; round++)); do
		for case in $cases; do
			read -ra before <<<"$(cpu_of "${main[$case]}")"
			answered=$("slice_$kind" "$case")
			read -ra after <<<"$(cpu_of "${main[$case]}")"
			echo "$answered $((after[0] - before[0])) $((after[1] - before[1]))" >>"$work/$case.rates"
		done
	done
	for case in $cases; do
		# ANSWERS SECONDS CPU OWN, of this case and of the bare one.
		paste -d ' ' "$work/$case.rates" "$work/bare.rates" >"$work/pairs"
		awk '{ print $1 / $2 }' "$work/pairs" | median >>"$work/$case.rate"
		awk '{ print ($1 / $2) / ($5 / $6) }' "$work/pairs" | median >>"$work/$case.times"
		awk '{ n += $1; cpu += $3; m += $5; bare += $7 } END { print (cpu / n) / (bare / m) }' "$work/pairs" >>"$work/$case.cpu"
		awk '{ own += $4; cpu += $3 } END { print own / cpu }' "$work/pairs" >>"$work/$case.own"
	done
}

# times FILE: the median of its numbers, with the minimum and the maximum.
times() {
	sort -n "$1" | awk '{ all[NR] = $1 }
		END { printf "  %6.3f (%.3f %.3f)", all[int((NR + 1) / 2)], all[1], all[NR] }'
}

run() {
	local case start

	rm -f "$work"/*.rate "$work"/*.times "$work"/*.cpu "$work"/*.own
	for ((start = 0; start < starts; start++)); do
		for case in $cases; do
			start "$case" || return 0
		done
		measure
		for case in $cases; do
			[ -z "${client[$case]:-}" ] || {
				kill "${client[$case]}"
				wait "${client[$case]}" || true
				unset "client[$case]"
			}
			kill -INT "${main[$case]}"
			wait "${main[$case]}" || true
			unset "main[$case]"
		done
	done
	printf '%-26s %8s  %-22s  %-22s  %s\n' "$server, $engine ($starts starts)" 'a second' times 'times the CPU time' \
		'our threads'
	for case in $cases; do
		printf '  %-24s %8.0f%s%s  %6.2f%%\n' "$case" "$(median <"$work/$case.rate")" \
			"$(times "$work/$case.times")" "$(times "$work/$case.cpu")" \
			"$(awk '{ print $1 * 100 }' "$work/$case.own" | median)"
	done
	[ -n "$(find "$work/workers/out" -name '*.jfr' -print -quit)" ] || fail "$server: nothing was profiled"
	rm -rf "$work/masters" "$work/workers" "$work/bare" "$work/again"
}

[ "$(id -u)" = 0 ] || skip "needs root"
for server in ${SERVERS:-nginx gunicorn apache postgres}; do
	kind=http
	[ "$server" != postgres ] || kind=postgres
	for engine in ${ENGINES:-$(engines)}; do
		run
	done
done
