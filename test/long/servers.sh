#!/bin/bash
# Well-known servers with forked workers: each process that lives for a second has its own profile, with the CPU time
# that the kernel counted for it within 5%; with both engines. Needs root, for the servers' users.
#
#   SERVERS="nginx redis"  only these
#   RATES=1                throughput of each with its workers profiled, and with only the masters
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
for_everybody

[ "$(id -u)" = 0 ] || skip "needs root"
have python3 setpriv setsid
PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin)
seconds=${SECONDS_OF_LOAD:-4}
main='' front='' not_ours=''

# until_it COMMAND...: wait until it succeeds.
until_it() {
	for _ in $(seq 2400); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.05
	done
	fail "$server, $engine: in vain: $* $(tail -n 20 "$work/log" "$work/err")"
}

answers() {
	(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}

# begin [VARIABLE=value...] COMMAND...: in the background, watched; its process is $main.
begin() {
	rm -f "$work/main" "$work/stop"
	# shellcheck disable=SC2016 # is that shell's
	set -- sh -c 'echo $$ >"$0"; exec setsid "$@"' "$work/main" "$@"
	[ -z "${fork_off:-}" ] || set -- FORK=off "$@"
	profiled "$work/out" "$engine" CPU_INTERVAL=1ms START_DELAY=100ms LOG=info LOG_FILE="$work/log" "$@" \
		>"$work/said" 2>"$work/err" &
	running=$!
	mkfifo "$work/stop"
	until_it test -s "$work/main"
	main=$(cat "$work/main")
	python3 test/programs/watch_processes.py "$main" "$work/log" <"$work/stop" >"$work/watched" &
	watcher=$!
	exec 8>"$work/stop"
}

# end SIGNAL [PROCESS]: the server's end, after a last reading of its processes' CPU time: later time is not counted.
end() {
	sleep 1.2
	until=$(date -u +%T)
	echo >&8
	wait "$watcher" || fail "$server, $engine: the watcher failed"
	exec 8>&-
	kill "-$1" "${2:-$main}"
	wait "$running"
	status=$?
	main=
}

trap '[ -z "$main$front" ] || kill $main $front; rm -rf "$work"' EXIT

# Each process that was watched for a second or more has as many samples as milliseconds of CPU time. If a process
# restarts or ends while it is watched, its CPU time after the last reading is unknown: so some exceptions are
# allowed.
check() {
	local pid name lived since total was count processes=0 bad=
	[ -z "$fork_off" ] || return 0
	while read -r pid name lived since total was; do
		[ "${lived%.*}" -ge 1 ] || continue
		# (A helper that does not belong to the server.)
		case " ${not_ours:-} " in *" $name "*) continue ;; esac
		processes=$((processes + 1))
		find "$work/out" -name "*_${pid}_*.jfr" -print0 >"$work/files"
		if [ ! -s "$work/files" ]; then
			bad="$bad
$name $pid: no profile, in $lived s and $total ms; an agent of its own: $was"
			continue
		fi
		count=$(xargs -0 "$agent" collapsed --cpu --to "$until" <"$work/files" 2>>"$work/err" | samples .)
		awk -v n="$count" -v low="$since" -v high="$total" \
			'BEGIN { exit !(n >= low * 0.95 - 30 && n <= high * 1.05 + 30) }' ||
			bad="$bad
$name $pid: samples of $count ms, of $since to $total ms in $lived s"
		[ -z "${VERBOSE:-}" ] || echo "$server, $engine: $name $pid: $count of $since to $total ms"
	done <"$work/watched"
	[ "$processes" -ge "$1" ] || bad="$bad
only $processes processes"
	[ -z "$bad" ] || fail "$server, $engine:$bad
$(grep -v ' info: ' "$work/log" | tail -n 20) $(tail -n 5 "$work/err")"
	echo "$server, $engine: $processes processes"
}

load_by_http() {
	until_it answers
	until_it grep -q profiling "$work/log"
	wrk -t 1 -c 16 -d "${seconds}s" "http://127.0.0.1:$port/$1" >"$work/rate" || fail "$server: wrk"
	! grep -q 'Non-2xx' "$work/rate" || fail "$server, $engine: $(cat "$work/rate" "$work/err")"
	rate=$(awk '/^Requests/ { print $2 }' "$work/rate")
}

try_nginx() {
	needs nginx wrk || return 0
	mkdir -p "$work/t"
	nginx_configuration 4 "$work/t" "$port" >"$work/nginx.conf"
	begin nginx -e stderr -c "$work/nginx.conf"
	load_by_http ''
	end QUIT
	check 5
}

try_postgres() {
	local as="setpriv --reuid=postgres --regid=postgres --clear-groups"
	needs postgres initdb pgbench || return 0
	rm -rf "$work/pg" && mkdir "$work/pg" && chown postgres "$work/pg"
	$as initdb -D "$work/pg" --no-sync -A trust >"$work/said" 2>&1 || fail "initdb: $(cat "$work/said")"
	begin $as postgres -D "$work/pg" -k "$work/pg" -h 127.0.0.1 -p "$port" -F
	until_it pg_isready -h 127.0.0.1 -p "$port"
	pgbench -U postgres -h 127.0.0.1 -p "$port" -q -i -s 2 postgres >"$work/rate" 2>&1 ||
		fail "$server, $engine: $(cat "$work/rate")"
	pgbench -U postgres -h 127.0.0.1 -p "$port" -c 4 -T $((seconds + 1)) postgres >"$work/rate" 2>&1 ||
		fail "$server, $engine: $(cat "$work/rate")"
	rate=$(awk '/^tps/ { print $3 }' "$work/rate")
	end INT
	[ $status = 0 ] || fail "$server, $engine: status $status"
	check 9
}

try_apache() {
	needs apache2 wrk || return 0
	rm -rf "$work/www" && mkdir -p "$work/www" && seq 20000 >"$work/www/index.html"
	chmod -R a+rX "$work/www"
	apache_configuration "$work/apache.pid" "$work/apache.log" "$port" "$work/www" >"$work/apache.conf"
	cat >>"$work/apache.conf" <<-END
		LoadModule deflate_module modules/mod_deflate.so
		LoadModule filter_module modules/mod_filter.so
		SetOutputFilter DEFLATE
		StartServers 4
		MinSpareServers 4
		MaxSpareServers 8
	END
	touch "$work/apache.log"
	begin apache2 -f "$work/apache.conf" -DFOREGROUND
	load_by_http ''
	end TERM
	check 5
}

try_gunicorn() {
	needs gunicorn wrk || return 0
	gunicorn_application "$work"
	begin gunicorn --chdir "$work" -w 4 -b "127.0.0.1:$port" application
	load_by_http ''
	end TERM
	[ $status = 0 ] || fail "$server, $engine: status $status"
	check 5
}

try_fpm() {
	local fpm
	fpm=$(compgen -c php-fpm | sort | tail -n 1)
	[ -n "$fpm" ] || skip "php-fpm is not on this machine"
	needs nginx wrk || return 0
	mkdir -p "$work/php"
	echo '<?php $s = 0; for ($i = 0; $i < 30000; $i++) $s += strlen(md5((string)$i)); echo $s;' \
		>"$work/php/index.php"
	chmod -R a+rX "$work/php"
	cat >"$work/fpm.conf" <<-END
		[global]
		error_log = $work/fpm.log
		[www]
		user = www-data
		group = www-data
		listen = $work/fpm.socket
		listen.mode = 0666
		pm = static
		pm.max_children = 4
	END
	begin "$fpm" -F -n -y "$work/fpm.conf"
	until_it test -S "$work/fpm.socket"
	mkdir -p "$work/t"
	nginx_configuration 1 "$work/t" "$port" "location = /index.php { fastcgi_pass unix:$work/fpm.socket;
		fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_FILENAME $work/php/index.php; }" \
		>"$work/nginx.conf"
	nginx -e stderr -c "$work/nginx.conf" 2>"$work/front" &
	front=$!
	load_by_http index.php
	kill -QUIT "$front"
	wait "$front"
	front=
	end QUIT
	check 5
}

try_redis() {
	needs redis-server redis-benchmark redis-cli || return 0
	begin redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$work" --enable-debug-command yes
	until_it redis-cli -p "$port" ping
	redis-cli -p "$port" debug populate 2000000 key 100 >"$work/rate"
	redis-cli -p "$port" bgsave >>"$work/rate"
	redis-benchmark -p "$port" -n 100000 -c 16 -q -t set,get >"$work/rate" ||
		fail "$server, $engine: redis-benchmark"
	rate=$(tr '\r' '\n' <"$work/rate" | awk '/^SET:/ { r = $2 } END { print r }')
	until_it eval 'redis-cli -p $port info persistence | grep -q rdb_bgsave_in_progress:0'
	redis-cli -p "$port" info persistence | grep -q rdb_last_bgsave_status:ok || fail "$server: BGSAVE"
	rm -f "$work/dump.rdb"
	end TERM
	check 2
}

try_sshd() {
	needs sshd ssh ssh-keygen || return 0
	mkdir -p /run/sshd
	for key in host user; do
		[ -e "$work/$key" ] || ssh-keygen -q -t ed25519 -N '' -f "$work/$key"
	done
	cat >"$work/sshd.conf" <<-END
		Port $port
		ListenAddress 127.0.0.1
		HostKey $work/host
		AuthorizedKeysFile $work/user.pub
		StrictModes no
		PermitRootLogin yes
		UsePAM no
		PidFile none
	END
	begin "$(command -v sshd)" -D -e -f "$work/sshd.conf"
	until_it answers
	ssh -F none -i "$work/user" -p "$port" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o LogLevel=ERROR root@127.0.0.1 "timeout $seconds cat /dev/zero; exit 0" </dev/null >/dev/null ||
		fail "$server, $engine: $(tail "$work/err")"
	rate=
	not_ours="cat timeout bash sh dash" # which have another environment
	end TERM
	check 2
	not_ours=
}

# Its master passes on only the parts of the environment that are configured.
try_postfix() {
	local names=MAIL_CONFIG
	needs postfix smtp-source || return 0
	for name in LOCAL_DIR ENGINE LIB START_DELAY EXIT_TIMEOUT CPU_INTERVAL LOG LOG_FILE FORK; do
		names="$names ASPROF_AGENT_$name"
	done
	rm -rf "$work/mail" && mkdir -p "$work/mail/conf" "$work/mail/queue" "$work/mail/data"
	chown postfix "$work/mail/data"
	cat >"$work/mail/conf/main.cf" <<-END
		compatibility_level = 3.6
		queue_directory = $work/mail/queue
		data_directory = $work/mail/data
		command_directory = $(postconf -dh command_directory)
		daemon_directory = $(postconf -dh daemon_directory)
		myhostname = localhost.localdomain
		inet_interfaces = 127.0.0.1
		inet_protocols = ipv4
		mynetworks = 127.0.0.0/8
		mydestination =
		alias_maps =
		local_transport = discard:
		default_transport = discard:
		smtpd_recipient_restrictions = permit_mynetworks, reject
		import_environment = $names LD_PRELOAD
	END
	cat >"$work/mail/conf/master.cf" <<-END
		127.0.0.1:$port inet n - n - 4 smtpd
		pickup unix n - n 60 1 pickup
		cleanup unix n - n - 0 cleanup
		qmgr unix n - n 300 1 qmgr
		rewrite unix - - n - - trivial-rewrite
		bounce unix - - n - 0 bounce
		defer unix - - n - 0 bounce
		proxymap unix - - n - - proxymap
		error unix - - n - - error
		retry unix - - n - - error
		discard unix - - n - - discard
		anvil unix - - n - 1 anvil
	END
	begin postfix -c "$work/mail/conf" start-fg
	until_it answers
	timeout "$seconds" smtp-source -s 4 -m 1000000 -f a@localhost.localdomain -t b@localhost.localdomain \
		"127.0.0.1:$port" >"$work/rate" 2>&1
	[ $? -eq 124 ] || fail "$server, $engine: $(cat "$work/rate")"
	rate=
	end TERM "$(tr -d ' ' <"$work/mail/queue/pid/master.pid")"
	check 8
}

try_pool() {
	cat >"$work/pool.py" <<-END
		import multiprocessing, time, zlib
		def burn(n):
		    end = time.process_time() + 0.2
		    while time.process_time() < end:
		        zlib.compress(bytes(20000))
		    return n
		for how in "fork", "forkserver", "spawn":
		    if __name__ == "__main__":
		        with multiprocessing.get_context(how).Pool(4) as pool:
		            assert pool.map(burn, range(16), 1) == list(range(16))
		            time.sleep(0.3)
		            pool.close()
		            pool.join()
		if __name__ == "__main__":
		    print("done", flush=True)
		    time.sleep(60)
	END
	# (Not a script that searches for the interpreter, because there may be one of that name.)
	begin "$(python3 -c 'import sys; print(sys.executable)')" "$work/pool.py"
	until_it grep -q "done" "$work/said"
	rate=
	end INT
	check 5
}

for server in ${SERVERS:-nginx postgres apache gunicorn fpm redis sshd postfix pool}; do
	for engine in $(engines); do
		rm -rf "$work/out" "$work/log" && mkdir -m 1777 "$work/out" && install -m 666 /dev/null "$work/log"
		port=$(free_port)
		fork_off='' rate=''
		"try_$server"
		[ -n "${RATES:-}" ] && [ -n "$rate" ] || continue
		with=$rate
		fork_off=1
		"try_$server"
		echo "$server, $engine: $with with the workers, $rate with the master alone"
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
