#!/bin/bash
# How much servers answer whose workers are forked, and what CPU time an answer takes them: without us, with the master
# alone profiled (FORK=off), and with the workers as well, at the default settings. All of them run at once, and in each
# round each has a slice in turn, so that what else the machine does falls on all. Ratios are medians over STARTS (7)
# starts of ROUNDS (5) rounds, with the least and the greatest of the starts in brackets.
#
#   SERVERS="nginx gunicorn apache postgres"  those to run
#   ENGINES="builtin async-profiler"          by these engines
set -eu
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
for_everybody
PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin)
starts=${STARTS:-7} rounds=${ROUNDS:-5} cases="bare again masters workers"
declare -A main port
trap '[ ${#main[*]} -eq 0 ] || kill ${main[*]}; rm -rf "$work"' EXIT

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

# Each connection is a process, which begins to be profiled after START_DELAY: they are kept through a slice of two
# seconds. Prints how much was answered, and in what time.
slice_postgres() {
	pgbench -U postgres -h 127.0.0.1 -p "$1" -S -c 4 -T 2 postgres 2>/dev/null |
		awk '/^number of transactions actually/ { n = $6 } /^tps/ { print n, n / $3 }'
	sleep 0.2 # until all of them have ended
}

slice_http() {
	wrk -t 1 -c 16 -d 1s "http://127.0.0.1:$1/" | awk '/requests in/ { n = $1 } /^Requests/ { print n, n / $2 }'
}

# Ticks of all processes of a server.
cpu_of() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v server="$1" '
		{ pid = $1; sub(/.*\) /, "") }
		pid == server || $2 == server || $4 == server { sum += $12 + $13 + $14 + $15 }
		END { print sum }'
}

# start CASE: on a port of its own.
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

# The rounds of a start: a line "CASE RATIO" for each case, by the median over the rounds.
measure() {
	local case round before answered

	for case in $cases; do
		rm -f "$work/$case.rates"
		"slice_$kind" "${port[$case]}" >/dev/null
	done
	for ((round = 0; round < rounds; round++)); do
		for case in $cases; do
			before=$(cpu_of "${main[$case]}")
			answered=$("slice_$kind" "${port[$case]}")
			echo "$answered $(($(cpu_of "${main[$case]}") - before))" >>"$work/$case.rates"
		done
	done
	for case in $cases; do
		# ANSWERS SECONDS TICKS, of this case and of the bare one.
		paste -d ' ' "$work/$case.rates" "$work/bare.rates" >"$work/pairs"
		awk '{ print $1 / $2 }' "$work/pairs" | median >>"$work/$case.rate"
		awk '{ print ($1 / $2) / ($4 / $5) }' "$work/pairs" | median >>"$work/$case.times"
		awk '{ print ($3 / $1) / ($6 / $4) }' "$work/pairs" | median >>"$work/$case.cpu"
	done
}

# times FILE: the median of what is in it, with the least and the greatest.
times() {
	sort -n "$1" | awk '{ all[NR] = $1 }
		END { printf "  %6.3f (%.3f %.3f)", all[int((NR + 1) / 2)], all[1], all[NR] }'
}

run() {
	local case start

	rm -f "$work"/*.rate "$work"/*.times "$work"/*.cpu
	for ((start = 0; start < starts; start++)); do
		for case in $cases; do
			start "$case" || return 0
		done
		measure
		for case in $cases; do
			kill -INT "${main[$case]}"
			wait "${main[$case]}" || true
			unset "main[$case]"
		done
	done
	printf '%-26s %8s  %-22s  %s\n' "$server, $engine ($starts starts)" 'a second' times 'times the CPU time'
	for case in $cases; do
		printf '  %-24s %8.0f%s%s\n' "$case" "$(median <"$work/$case.rate")" \
			"$(times "$work/$case.times")" "$(times "$work/$case.cpu")"
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
