#!/bin/bash
# A root directory that has only the program and its C library. The program is process 1, without /proc or with a
# restricted one, without /dev and /tmp, and without a writable directory. There are profiles, or a line gives the
# reason. The program behaves as without the agent.
. "$(dirname "$0")/agent.inc"

[ "$(id -u)" -eq 0 ] || skip "only root can make a root directory"
unshare --mount --pid --fork true 2>/dev/null || skip "no name spaces can be had here"
have setpriv
everyday=$(program everyday)
chmod 0711 "$work"
root=$work/root
mkdir -p "$root/proc" "$root/profiles"

# built_for KIND: make the root, with a program of that C library as /service.
built_for() {
	rm -rf "$root"
	mkdir -p "$root/proc"
	if [ "$1" = musl ]; then
		musl-gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -o "$root/service" test/programs/everyday.c || exit 1
		loader=$(LC_ALL=C readelf -lW "$root/service" | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
		mkdir -p "$root$(dirname "$loader")" && cp -L "$loader" "$root$loader" || exit 1
	else
		cp "$everyday" "$root/service"
		ldd "$everyday" ${ASPROF_TEST_LIB:+"$ASPROF_TEST_LIB"} | sed '/:$/d' | grep -o '/[^ ]*' | while read -r file; do
			mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file" || exit 1
		done
	fi
	cp "$preload" "$B/asprof-agent-launch" "$root/"
	# The dynamic linker finds the preload by its name.
	[ -z "${ASPROF_TEST_LIB:-}" ] || { mkdir -p "$root/usr/lib" && cp "$ASPROF_TEST_LIB" "$root/usr/lib/libasyncProfiler.so"; }
}

# bare WHAT PROC HOW LINE FUNCTION: PROC is how /proc is mounted, or empty. HOW is a shell command that runs before
# the root is entered, as the user $as if it sets that. stderr matches LINE. If LINE is empty, there must be a profile
# with FUNCTION.
bare() {
	local what="$kind, $engine: $1" line=$4 function=$5 status

	rm -rf "$root/profiles" && mkdir "$root/profiles"
	env -i ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_LOCAL_DIR=/profiles ASPROF_AGENT_CPU_INTERVAL=5ms \
		ASPROF_AGENT_NATIVE_MEM=1k ASPROF_AGENT_EXIT_TIMEOUT=30s ASPROF_AGENT_ENGINE="$engine" \
		ASPROF_AGENT_FORK=off "$(command -v unshare)" --mount --pid --fork \
		/bin/sh -c '[ -z "$1" ] || mount -t proc -o "$1" proc "$0/proc" || exit 99
			eval "$2" || exit 99
			exec chroot ${as:+--userspec="$as:$as" --groups="$as"} "$0" /asprof-agent-launch /service' "$root" "$2" "$3" >"$work/out" 2>"$work/err"
	status=$?
	[ "$status $(cat "$work/out")" = "5 out" ] || fail "$what: status $status, $(cat "$work/out" "$work/err")"
	if [ -n "$line" ]; then
		grep -q "$line" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$what: $(cat "$work/err")"
		return 0
	fi
	[ ! -s "$work/err" ] || fail "$what: $(cat "$work/err")"
	ls "$root"/profiles/service_1_*.jfr >/dev/null 2>&1 || fail "$what: no profile of process 1"
	"$agent" top --cpu "$root/profiles" | grep -q "$function" || fail "$what: $("$agent" top --cpu "$root/profiles")"
	"$agent" collapsed --nativemem "$root/profiles" | grep -q keep || fail "$what: its memory is not there"
}

kinds=glibc
! command -v musl-gcc >/dev/null || kinds='glibc musl'
for kind in $kinds; do
	built_for "$kind"
	for engine in $(engines); do
		bare "as in a container" rw : '' 'burn.*\[service\]'
		bare "subset=pid" subset=pid : '' 'burn.*\[service\]'
		if [ "$engine" = builtin ]; then
			bare "no /proc" '' : '' 'burn.*\[service\]'
		else
			bare "no /proc" '' : 'start failed: .*; profiling is off in this process' ''
		fi
		# shellcheck disable=SC2016 # that shell's
		bare "nothing can be written" rw 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"' \
			'cannot open ASPROF_AGENT_LOCAL_DIR /profiles: Read-only' ''
		# /proc shows each user only his own processes, and there is a process of root.
		# shellcheck disable=SC2016 # that shell's
		bare hidepid hidepid=2 'chown 65534:65534 "$0/profiles" && as=65534 && { sleep 1000 & } &&
			test -e "$0/proc/$!" && setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \
			"test -e $0/proc/self && ! test -e $0/proc/$!"' '' 'burn.*\[service\]'
	done
done

engine=builtin kind=glibc
built_for glibc

# TLS gets its random numbers without /dev.
if command -v openssl >/dev/null && command -v python3 >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -addext \
		subjectAltName=IP:127.0.0.1 -days 30 -keyout "$work/key" -out "$root/certificate" 2>"$work/out" ||
		fail "openssl: $(cat "$work/out")"
	mkdir "$work/objects"
	: >"$work/ready"
	/usr/bin/python3 test/system/store_server.py --port 0 --tls "$root/certificate" "$work/key" "$work/objects" \
		>"$work/ready" &
	store=$!
	trap 'kill "$store" 2>/dev/null; rm -rf "$work"' EXIT
	for _ in {1..600}; do
		! grep -q ready "$work/ready" || break
		sleep 0.1
	done
	env -i ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_EXIT_TIMEOUT=30s ASPROF_AGENT_FORK=off AWS_REGION=us-east-1 \
		AWS_ACCESS_KEY_ID=tester AWS_SECRET_ACCESS_KEY=testing AWS_EC2_METADATA_DISABLED=true \
		AWS_CA_BUNDLE=/certificate ASPROF_AGENT_S3_BUCKET=reports ASPROF_AGENT_ENGINE=builtin \
		ASPROF_AGENT_S3_ENDPOINT="https://127.0.0.1:$(sed 's/ready //' "$work/ready")" \
		"$(command -v chroot)" "$root" /asprof-agent-launch /service >"$work/out" 2>&1
	[ "$? $(cat "$work/out")" = "5 out" ] || fail "an upload: $(cat "$work/out")"
	ls "$work"/objects/profile_service_*.zip >/dev/null 2>&1 || fail "an upload: nothing arrived"
fi
! unshare --mount --pid --fork sh -c 'mount -t tmpfs none /proc && exec "$0" ps' "$agent" >"$work/out" 2>&1 ||
	fail "ps without /proc: $(cat "$work/out")"
grep -q 'ps needs the processes in /proc' "$work/out" || fail "ps without /proc: $(cat "$work/out")"
echo ok
