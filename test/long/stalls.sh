#!/bin/bash
# COUNT (100) stalls of 20 to 200 ms in event loops of unchanged programs, at the default intervals. Each is recorded,
# within 10% or 2 ms of the program's own measurement, with the responsible function, and no others are. The programs:
# python's asyncio with a call that blocks, node with a handler that computes, a selector of Java (with
# async-profiler, if ASPROF_TEST_LIB names its library), a loop in Rust, redis with a script, and nginx on a disk that
# blocks (by a library in which each read of a file waits). Missing ones are omitted, with a message.
. "$(dirname "$0")/../system/agent.inc"
count=${COUNT:-100}
mkdir "$work/run"
trap 'kill $servers 2>/dev/null; rm -rf "$work"' EXIT
servers=

# told DIR FUNCTION: print "MICROSECONDS WORD"; WORD is the part of the stack that matches FUNCTION, or `none`.
told() {
	"$agent" longpolls "$1" --stack-depth 200 | function=$2 awk '
		/ - stall of / { if (us) print us, word; us = $7 + 0; word = "none" }
		us && word == "none" && match($0, ENVIRON["function"]) { word = substr($0, RSTART, RLENGTH) }
		END { if (us) print us, word }'
}

# judge NAME SAID DIR FUNCTION: compare the program's output with the recorded stalls. (An iteration may contain more
# than the program measured: the rest of a request. A pause of the machine may make a stall of another iteration,
# which is printed.)
judge() {
	told "$3" "$4" >"$work/told"
	awk -v name="$1" '
		FNR == NR { said[++n] = $1; by[n] = $2; next }
		{ us[++m] = $1; function_of[m] = $2 }
		END {
			for (i = 1; i <= n; i++) {
				best = 0
				for (k = 1; k <= m; k++) {
					d = us[k] - said[i]; d = d < 0 ? -d : d
					if (!ours[k] && (d <= 2000 || d <= said[i] / 10) && (!best || d < least)) { best = k; least = d }
				}
				if (!best) { missing = missing " " said[i]; continue }
				ours[best] = 1; found++
				right += by[i] == function_of[best] || by[i] == "any" && function_of[best] != "none"
			}
			for (k = 1; k <= m; k++) if (!ours[k]) others = others " " us[k]
			printf "%-8s %d of %d told, %d of them with the function", name ":", found, n, right
			if (missing) printf "; not told:%s", missing
			if (others) printf "; others:%s", others
			print ""
			exit !(n && found == n && right == n)
		}' "$2" "$work/told" || bad=1
}

# loop NAME ENGINE FUNCTION COMMAND...
loop() {
	name=$1 engine=$2 function=$3
	shift 3
	profiled "$work/$name" "$engine" START_DELAY=300ms STALLS=10ms "$@" >"$work/said" 2>"$work/err" || {
		echo "$name: status $?: $(cat "$work/err")"
		bad=1
		return
	}
	judge "$name" "$work/said" "$work/$name" "$function"
}

wanted() {
	case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
	command -v "$2" >/dev/null && return
	echo "$1: there is no $2 here"
	return 1
}

! wanted python /usr/bin/python3 || loop python builtin 'blocking|burning' /usr/bin/python3 test/programs/stalls.py "$count"
! wanted node node || loop node builtin burning node test/programs/stalls.js "$count"
if wanted rust rustc; then
	rustc -O -g -o "$work/stalls_rs" test/programs/stalls.rs || fail 'the program of Rust is not built'
	loop rust builtin 'blocking|burning' "$work/stalls_rs" "$count"
fi
if [ -n "${ASPROF_TEST_LIB:-}" ] && wanted java javac; then
	javac -d "$work" test/programs/Stalls.java || fail 'the program of Java is not built'
	loop java async-profiler 'blocking|burning' java -cp "$work" Stalls "$count"
fi

if wanted redis redis-server; then
	(cd "$work/run" && profiled "$work/redis" builtin START_DELAY=300ms STALLS=10ms redis-server --port 0 \
		--unixsocket "$work/run/socket" --save '' >"$work/redis.log") &
	for ((i = 0; i < 100; i++)); do
		redis-cli -s "$work/run/socket" ping 2>/dev/null | grep -q PONG && break
		sleep 0.1
	done
	sleep 1
	script='local function us() local t = redis.call("TIME"); return t[1] * 1000000 + t[2] end
		local began = us()
		while us() < began + ARGV[1] do end
		return us() - began'
	for ((i = 0; i < count; i++)); do
		redis-cli -s "$work/run/socket" eval "$script" 0 $((20000 + 180000 * i / (count > 1 ? count - 1 : 1)))
		sleep 0.01
	done | sed 's/[^0-9]*\([0-9]*\).*/\1 any/' >"$work/said"
	redis-cli -s "$work/run/socket" shutdown nosave 2>/dev/null
	wait
	judge redis "$work/said" "$work/redis" 'lua[A-Z_]\w*|evalGenericCommand|scriptCall|parseReply'
fi

if wanted nginx nginx; then
	program slow_disk -shared -fPIC >/dev/null && mv "$work/slow_disk" "$work/slow_disk.so" || exit 1
	chmod 0755 "$work" "$work/run"
	for_everybody
	mkdir -m 0777 "$work/nginx" "$work/www"
	head -c 100 /dev/zero >"$work/www/file"
	: >"$work/said"
	chmod 0666 "$work/said"
	cat >"$work/nginx.conf" <<-END
		daemon off; master_process off; pid $work/run/pid; error_log $work/run/error;
		events { }
		http { access_log off; sendfile off; output_buffers 1 1k;
			client_body_temp_path $work/run; proxy_temp_path $work/run; fastcgi_temp_path $work/run;
			uwsgi_temp_path $work/run; scgi_temp_path $work/run;
			server { listen unix:$work/run/nginx; root $work/www; } }
	END
	(
		preload="$preload:$work/slow_disk.so"
		profiled "$work/nginx" builtin START_DELAY=300ms STALLS=10ms env \
			SLOW_DISK_SAYS="$work/said" SLOW_DISK_COUNT="$count" nginx -c "$work/nginx.conf" -e "$work/run/error"
	) &
	for ((i = 0; i < 100; i++)); do
		[ -S "$work/run/nginx" ] && break
		sleep 0.1
	done
	sleep 1
	for ((i = 0; i <= count; i++)); do
		curl -s --unix-socket "$work/run/nginx" http://localhost/file >/dev/null
	done
	kill -QUIT "$(cat "$work/run/pid")"
	wait
	sed -i 1,2d "$work/said" # of its configuration, before there are iterations; and of first calls
	judge nginx "$work/said" "$work/nginx" 'pread'
fi
[ -z "${bad:-}" ]
