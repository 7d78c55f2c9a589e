#!/bin/bash
# Servers with forked workers that never execute a program: each worker has its own profile, with the CPU time that
# the kernel counted for it.
#
#   NGINX=/usr/sbin/nginx  this nginx (default: the one in PATH)
. "$(dirname "$0")/agent.inc"
python=${PYTHON:-/usr/bin/python3}
have "$python" awk

# until_it COMMAND...: wait until it succeeds.
until_it() {
	for _ in $(seq 600); do
		! "$@" 2>/dev/null || return 0
		sleep 0.05
	done
	fail "in vain: $* $(cat "$work/err")"
}

# (The file name of a process's reports is the name of its executable.)
is_profiled() {
	grep -q "asprof-agent\[$1\]: profiling " "$work/err"
}

has_children() {
	[ "$(wc -w <"/proc/$1/task/$1/children")" = 2 ]
}

# Nanoseconds that the threads of PID have run.
spent() {
	cat "/proc/$1/task/"*/schedstat | awk '{ sum += $1 } END { printf "%d", sum }'
}

collapsed() {
	find "$work/out" -name "*_$1_*.jfr" -print0 | xargs -0 "$agent" collapsed --cpu
}

# burst PORT REQUESTS PID...: the samples of each process add up to the CPU time of the burst.
burst() {
	local port=$1 requests=$2 pid
	shift 2
	for pid; do
		until_it is_profiled "$pid"
		spent "$pid" >"$work/$pid.before"
	done
	"$python" test/programs/burst.py "$port" "$requests" 8 || fail "the burst failed"
	for pid; do
		spent "$pid" >"$work/$pid.after"
	done
}

# enough WHAT PID PATTERN: samples of at least most of the burst's CPU time.
enough() {
	local ms
	ms=$((($(cat "$work/$2.after") - $(cat "$work/$2.before")) / 1000000))
	collapsed "$2" >"$work/stacks" || fail "$1: no report of $2: $(ls "$work/out" "$work/err")"
	awk -v wanted="$ms" -v got="$(samples "$3" <"$work/stacks")" \
		'BEGIN { exit !(got >= wanted * 0.85 - 20 && got <= wanted * 1.15 + 30) }' ||
		fail "$1: $(samples "$3" <"$work/stacks") samples of $ms ms: $(cat "$work/stacks")"
}

# begin DIR COMMAND...: in the background, as $server.
begin() {
	rm -rf "$work/out"
	mkdir -m 1777 "$work/out"
	profiled "$work/out" "$@" >"$work/said" 2>"$work/err" &
	server=$!
}

prefork() {
	local port master workers pid
	rm -f "$work/port"
	begin "$1" CPU_INTERVAL=1ms START_DELAY=100ms LOG=info \
		"$python" test/programs/prefork.py 3 "$work/port"
	until_it test -s "$work/port"
	read -r port master workers <"$work/port"
	# shellcheck disable=SC2086
	burst "$port" 600 $workers
	kill "$master"
	wait "$server" || fail "prefork, $1: $? $(cat "$work/err")"
	for pid in $workers; do
		enough "prefork, $1" "$pid" ''
		[ "$(samples ';work_for' <"$work/stacks")" -gt 50 ] ||
			fail "prefork, $1: no functions of Python: $(cat "$work/stacks")"
	done
}

pool() {
	local pids pid
	begin "$1" CPU_INTERVAL=1ms START_DELAY=20ms "$python" test/programs/pool.py
	wait "$server" || fail "pool, $1: $? $(cat "$work/err")"
	read -r -a pids <"$work/said"
	for pid in "${pids[@]}"; do
		collapsed "$pid" >"$work/stacks" || fail "pool, $1: no report of $pid"
		[ "$(samples '(^|;)burn' <"$work/stacks")" -gt 300 ] ||
			fail "pool, $1: $(cat "$work/stacks")"
	done
}

web_server() {
	local port master workers pid
	mkdir -p "$work/nginx/logs"
	port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >"$work/nginx.conf" <<-END
		worker_processes 2;
		daemon off;
		pid $work/nginx/pid;
		error_log stderr;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path $work/nginx; proxy_temp_path $work/nginx;
			fastcgi_temp_path $work/nginx; uwsgi_temp_path $work/nginx; scgi_temp_path $work/nginx;
			keepalive_requests 100000;
			gzip on; gzip_min_length 0; gzip_comp_level 9;
			server {
				listen 127.0.0.1:$port;
				default_type text/html;
				location / { return 200 "$(seq 900 | xargs)"; }
			}
		}
	END
	begin "$1" CPU_INTERVAL=1ms START_DELAY=100ms LOG=info LOG_FILE="$work/err" \
		"$NGINX" -e stderr -p "$work/nginx" -c "$work/nginx.conf"
	until_it test -s "$work/nginx/pid"
	master=$(cat "$work/nginx/pid")
	until_it has_children "$master"
	workers=$(cat "/proc/$master/task/$master/children")
	# shellcheck disable=SC2086
	burst "$port" 4000 $workers
	kill -QUIT "$master"
	wait "$server" || fail "nginx, $1: $? $(cat "$work/err")"
	for pid in $workers; do
		enough "nginx, $1" "$pid" ''
	done
}

for_everybody
NGINX=${NGINX:-$(PATH=$PATH:/usr/sbin type -P nginx)}
for engine in $(engines); do
	prefork "$engine"
	pool "$engine"
	[ -z "$NGINX" ] || web_server "$engine"
done
[ -n "$NGINX" ] || echo "there is no nginx here: left out"
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
