#!/bin/bash
# One build of this machine, put unchanged into systems with other C libraries: Debian 11, 12, 13 and the next one,
# and one with only musl. Each of them profiles quickstart's program, a server, threads, allocations, and uploads by
# HTTPS.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc

have python3 openssl setpriv readelf dpkg-source
[ "$(uname -m)" = x86_64 ] || skip "this is for x86-64"
newest=$(LC_ALL=C readelf -VW "$preload" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "it needs $newest"

# A bucket, on this machine's loopback, which all roots share.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1 -days 30 -keyout "$work/key" -out "$work/certificate" 2>"$work/log" ||
	fail "openssl: $(cat "$work/log")"
mkdir "$work/objects"
: >"$work/ready"
python3 test/system/store_server.py --port 0 --tls "$work/certificate" "$work/key" "$work/objects" >"$work/ready" &
store=$!
trap 'kill "$store" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
for _ in {1..300}; do
	! grep -q ready "$work/ready" || break
	sleep 0.1
done
port=$(sed 's/ready //' "$work/ready")

# agent_into: as built here, and as make install would put it.
agent_into() {
	B=$B PREFIX=/usr/local DESTDIR=$root scripts/install >"$work/log" || fail "install: $(cat "$work/log")"
	cmp "$root/usr/local/lib/libasprof_preload.so" "$work/first/libasprof_preload.so" 2>/dev/null ||
		[ ! -e "$work/first" ] || fail "it is not the same file"
	mkdir -p "$work/first" "$root/profiles"
	cp "$root/usr/local/lib/libasprof_preload.so" "$work/first/"
	cp "$work/certificate" "$root/certificate"
}

# preloaded WHAT [VARIABLE=value...] COMMAND...: in the root, with its profiles in /profiles/WHAT.
preloaded() {
	local what=$1

	shift
	in_root env LD_PRELOAD=/usr/local/lib/libasprof_preload.so ASPROF_AGENT_LOCAL_DIR="/profiles/$what" \
		ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_CPU_INTERVAL=5ms ASPROF_AGENT_NATIVE_MEM=4k \
		ASPROF_AGENT_EXIT_TIMEOUT=30s "$@" >"$work/out" 2>"$work/err"
}

# shows WHAT KIND PATTERN: its profile has such a function.
shows() {
	"$agent" collapsed "--$2" "$root/profiles/$1" >"$work/stacks" 2>&1 || fail "$name, $1: $(cat "$work/stacks")"
	grep -qE "$3" "$work/stacks" || fail "$name, $1: no '$3' in $(sort "$work/stacks" | head -n 40)"
}

# quiet WHAT STATUS OUTPUT
quiet() {
	[ "$2" = 0 ] && [ ! -s "$work/err" ] || fail "$name, $1: status $2, $(cat "$work/err")"
	[ -z "${3:-}" ] || [ "$(cat "$work/out")" = "$3" ] || fail "$name, $1: $(cat "$work/out")"
}

# Checks that need no special programs.
everyday_works() {
	preloaded everyday ASPROF_AGENT_FORK=off /everyday
	[ "$? $(cat "$work/out" "$work/err")" = "5 out" ] || fail "$name: everyday: $(cat "$work/out" "$work/err")"
	shows everyday cpu 'work;burn'
	shows everyday cpu 'main;burn'
	shows everyday nativemem 'work;keep'

	rm -f "$work/objects"/*
	preloaded upload AWS_ACCESS_KEY_ID=tester AWS_SECRET_ACCESS_KEY=testing AWS_REGION=us-east-1 \
		AWS_EC2_METADATA_DISABLED=true AWS_CA_BUNDLE=/certificate ASPROF_AGENT_S3_BUCKET=reports \
		ASPROF_AGENT_S3_ENDPOINT="https://127.0.0.1:$port" ASPROF_AGENT_FORK=off /everyday
	[ "$? $(cat "$work/out" "$work/err")" = "5 out" ] || fail "$name: upload: $(cat "$work/out" "$work/err")"
	"$agent" collapsed --cpu "$work"/objects/profile_everyday_*.zip | grep -q 'work;burn' ||
		fail "$name: nothing arrived: $(ls "$work/objects")"
}

# The same program in each, built with the oldest C library.
debian_root bullseye redis-server,libc6-dev
libraries=$root/usr/lib/x86_64-linux-gnu
mkdir -p "$root/lib64" && ln -sf ../lib/x86_64-linux-gnu/ld-2.31.so "$root/lib64/ld-linux-x86-64.so.2"
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O2 -g --sysroot="$root" -isystem /usr/include -isystem \
	/usr/include/x86_64-linux-gnu -B"$libraries" -L"$libraries" -L"$root/lib/x86_64-linux-gnu" -o "$work/everyday" \
	test/programs/everyday.c "$root/lib/x86_64-linux-gnu/libpthread.so.0" 2>"$work/log" || fail "everyday: $(cat "$work/log")"

# shellcheck disable=SC2016 # perl's
words='my ($end, %n) = time + 2; while (time < $end) { $n{lc $_}++ for split /\W+/, "the quick brown fox " x 500 }
	my @sorted = sort { $n{$b} <=> $n{$a} } keys %n; print "counted\n"'
for name in bullseye bookworm trixie sid; do
	case $name in
	bullseye) debian_root bullseye redis-server,libc6-dev ;;
	*) debian_root $name redis-server ;;
	esac
	agent_into
	cp "$work/everyday" "$root/"
	preloaded perl perl -e "$words"
	quiet perl $? counted
	shows perl cpu '(^|;)(perl_run|Perl_|perl\+)'

	everyday_works

	# A server, which ends on request.
	preloaded redis sh -c 'redis-server --port 0 --unixsocket /tmp/redis.sock --save "" --logfile /dev/null &
		i=0
		while [ ! -S /tmp/redis.sock ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
		env -u LD_PRELOAD redis-benchmark -s /tmp/redis.sock -q -n 40000 -t set,lpush >/dev/null
		env -u LD_PRELOAD redis-cli -s /tmp/redis.sock shutdown nosave; wait $!'
	quiet redis $?
	shows redis cpu 'redis-server|aeMain|aeProcessEvents'
	echo "$name: $(in_root sh -c 'ldd --version | head -n 1') ok"
done

# A root with only musl: busybox and redis, built for it from Debian's sources.
command -v musl-gcc >/dev/null || {
	echo "ok, but without musl, as there is no musl-gcc"
	exit 0
}
name=musl
mirror
musl=$B/long/musl
if [ ! -e "$musl/ready" ]; then
	rm -rf "$musl"
	mkdir -p "$musl" "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site bookworm main" >"$work/apt/sources"
	options=(-o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
		-o "Dir::Etc::sourcelist=$work/apt/sources" -o Dir::Etc::sourceparts=-
		-o APT::Sandbox::User=root -o Acquire::Retries=3)
	apt-get "${options[@]}" update >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	(cd "$work/apt" && apt-get "${options[@]}" source --download-only busybox redis) >"$work/log" 2>&1 ||
		fail "$(cat "$work/log")"
	for source in busybox redis; do
		dpkg-source -x "$work/apt/$source"_*.dsc "$work/apt/$source" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	done
	compiler="musl-gcc -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu"
	(cd "$work/apt/busybox" && make -s defconfig && sed -i 's/^CONFIG_STATIC=y/# CONFIG_STATIC is not set/
		s/^CONFIG_\(TC\|FEATURE_TC_INGRESS\|FEATURE_MOUNT_NFS\|FEATURE_INETD_RPC\)=y/# CONFIG_\1 is not set/' .config &&
		make -s -j2 CC="$compiler" busybox_unstripped) >"$work/log" 2>&1 || fail "busybox: $(tail "$work/log")"
	make -s -j2 -C "$work/apt/redis/src" redis-server redis-benchmark redis-cli MALLOC=libc USE_SYSTEMD=no \
		CC="$compiler" AR=ar >"$work/log" 2>&1 || fail "redis: $(tail "$work/log")"
	cp "$work/apt/busybox/busybox_unstripped" "$musl/busybox"
	cp "$work"/apt/redis/src/redis-{server,benchmark,cli} "$musl/"
	touch "$musl/ready"
fi
rm -rf --one-file-system "$root"
loader=$(LC_ALL=C readelf -lW "$musl/busybox" | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
mkdir -p "$root/bin" "$root/proc" "$root/tmp" "$root$(dirname "$loader")"
cp -L "$loader" "$root$loader"
mkdir "$root/dev" && : >"$root/dev/null" # for the shell's <
cp "$musl"/* "$root/bin/"
for link in sh env awk sleep httpd wget; do
	ln -s busybox "$root/bin/$link"
done
musl-gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -o "$root/everyday" test/programs/everyday.c || exit 1
agent_into
for file in "$root"/bin/* "$root/everyday"; do
	! LC_ALL=C readelf -dW "$file" 2>/dev/null | grep -q 'libc\.so\.6' || fail "$file is not musl's"
done

# quickstart's program if there is neither perl nor python3.
preloaded awk awk 'BEGIN { while (i < 400000) n[i++ % 1000]++; print "counted" }'
quiet awk $? counted
ls "$root/profiles/awk"/awk_*.jfr >/dev/null || fail "it is not called as it was started"
shows awk cpu 'evaluate'
everyday_works
# shellcheck disable=SC2016 # that shell's
preloaded redis sh -c 'redis-server --port 0 --unixsocket /tmp/redis.sock --save "" --logfile /dev/null &
	server=$! i=0
	while [ ! -S /tmp/redis.sock ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
	env -u LD_PRELOAD redis-benchmark -s /tmp/redis.sock -q -n 40000 -t set,lpush >/dev/null
	env -u LD_PRELOAD redis-cli -s /tmp/redis.sock shutdown nosave; wait $server'
quiet redis $?
shows redis cpu 'aeMain|aeProcessEvents'
echo "musl: ok"
