#!/bin/bash
# `asprof-agent doctor`: each finding, on a program, a process, settings or a machine that has it, with its remedy and
# its exit status; and no finding where nothing is wrong.
. "$(dirname "$0")/agent.inc"

TMPDIR=$work AWS_EC2_METADATA_DISABLED=true HOME=$work
export TMPDIR AWS_EC2_METADATA_DISABLED HOME
unset "${!AWS_@}" 2>/dev/null
AWS_EC2_METADATA_DISABLED=true
export AWS_EC2_METADATA_DISABLED
if [ "$(id -u)" -eq 0 ]; then
	for_everybody
	cp "$agent" "$work/" && agent=$work/asprof-agent
fi
mkdir -p "$work/bin" "$work/reports"
export ASPROF_AGENT_LOCAL_DIR=$work/reports

echo 'int main(void) { return 0; }' >"$work/empty.c"
# compile NAME [FLAG...]: leaves its path in $made.
compile() {
	made=$work/bin/$1
	${CC:-cc} -o "$made" "$work/empty.c" "${@:2}" 2>"$work/cc" || fail "cannot build $1: $(cat "$work/cc")"
}

# finds WHAT STATUS PATTERN ARGUMENT...: a finding matches PATTERN and has a remedy, and the exit status is STATUS.
finds() {
	local what=$1 wanted=$2 pattern=$3 status

	shift 3
	"$agent" doctor "$@" >"$work/out" 2>"$work/err"
	status=$?
	grep -qE "^(stop|note)  $pattern" "$work/out" ||
		fail "$what: not found; status $status: $(cat "$work/out" "$work/err")"
	grep -A1 -E "^(stop|note)  $pattern" "$work/out" | tail -n 1 | grep -q '^      [A-Za-z`]' ||
		fail "$what: no mend: $(cat "$work/out")"
	[ $status = "$wanted" ] || fail "$what: status $status: $(cat "$work/out" "$work/err")"
	sed -n 's/^\(stop\|note\)  \([^:]*\): .*/\2/p' "$work/out" | while read -r id; do
		grep -qx "### $id" docs/questions/troubleshooting.md || fail "$what: no entry for $id"
	done || exit 1
	[ ! -s "$work/err" ] || fail "$what: said $(cat "$work/err")"
}

# silent WHAT ARGUMENT...: no finding, status 0.
silent() {
	"$agent" doctor "${@:2}" >"$work/all" 2>&1 || fail "$1: status $?: $(cat "$work/all")"
	# (The tests themselves may run in a container.)
	sed -e '/^note  seccomp: /,+1d' -e '/^note  exit: SIGKILL/,+1d' "$work/all" >"$work/out"
	[ "$(cat "$work/out")" = "found nothing that prevents profiles" ] ||
		fail "$1: $(cat "$work/out")"
}

silent "this machine"
compile good -g
good=$made
silent "a good program" -- "$good"
(PATH=$work/bin:$PATH && silent "by its name" good) || exit 1

# --- the program's file

compile static -static
finds static 1 "static: .*statically linked" -- "$made"
compile libraryless -nostdlib -pie -Wl,-e,main
finds "a program with a linker, but no library" 1 "static: .*statically linked" -- "$made"
cp "$good" "$work/bin/narrow" && printf '\003' | dd of="$work/bin/narrow" bs=1 seek=18 conv=notrunc 2>"$work/dd"
finds architecture 1 "architecture: " -- "$work/bin/narrow"
compile strange -Wl,--dynamic-linker=/nowhere/ld-linux.so.2
finds "no linker" 1 "libc: .*/nowhere/ld-linux" -- "$made"
: >"$work/linker64"
compile android -Wl,--dynamic-linker="$work/linker64"
finds "another C library" 1 "libc: .*Android" -- "$made"
if command -v musl-gcc >/dev/null; then
	# (musl's linker has no variable for listing the libraries that it would load.)
	echo 'int creat(const char *, int); int main(void) { return creat(RAN, 0600) < 0; }' >"$work/ran.c"
	musl-gcc -g -DRAN="\"$work/ran\"" -o "$work/bin/musl" "$work/ran.c" || exit 1
	silent musl -- "$work/bin/musl"
fi
if [ "$(id -u)" -eq 0 ]; then
	install -o 65534 -m 4755 "$good" "$work/bin/set_id"
	finds set-user-ID 1 "set-user-ID: " -- "$work/bin/set_id"
	install -g 65534 -m 2755 "$good" "$work/bin/set_group"
	finds set-group-ID 1 "set-user-ID: .*set-group-ID" -- "$work/bin/set_group"
	# Files that only root may read, and file capabilities, are reported for another user.
	install -m 0711 "$good" "$work/bin/unreadable"
	install -m 0755 "$good" "$work/bin/capable"
	mkdir -m 1777 "$work/everybody"
	chmod 0755 "$work/bin"
	# other WHAT PATTERN PROGRAM
	other() {
		ASPROF_AGENT_LOCAL_DIR=$work/everybody setpriv --reuid=65534 --regid=65534 --clear-groups "$agent" doctor -- "$3" >"$work/out" 2>&1
		[ $? = 1 ] && grep -qE "^stop  $2" "$work/out" || fail "$1: $(cat "$work/out")"
	}
	other unreadable "program: .*cannot be read, so" "$work/bin/unreadable"
	! command -v setcap >/dev/null || ! setcap cap_net_bind_service+ep "$work/bin/capable" 2>"$work/cc" ||
		other capabilities "set-user-ID: .*or capabilities" "$work/bin/capable"
fi
if [ "${CC:-cc}" = cc ]; then
	compile thread -fsanitize=thread
	finds "thread sanitizer" 1 "sanitizer: .*thread" -- "$made"
	compile address -fsanitize=address
	finds "address sanitizer" 1 "sanitizer: .*address" -- "$made"
	compile leak -fsanitize=leak
	finds "leak sanitizer" 1 "sanitizer: .*leak" -- "$made"
fi
printf '#!%s\n' "$work/bin/static" >"$work/bin/script" && chmod +x "$work/bin/script"
finds "script of a static program" 1 "static: $work/bin/static" -- "$work/bin/script"
finds "no such program" 1 "program: .*no such program" -- "$work/bin/nowhere"
finds "no program" 1 "program: .*neither an ELF" -- "$work/empty.c"

compile bare -fno-asynchronous-unwind-tables -fno-unwind-tables -nostartfiles -Wl,-e,main \
	-Wl,--no-eh-frame-hdr -Wl,--no-as-needed
objcopy --remove-section .eh_frame "$made"
finds "no unwind tables" 0 "unwind: " -- "$made"
compile unnamed -Wl,--build-id=none -s
finds "no symbols, and nowhere to look" 0 "symbols: .*nowhere, as it has neither" -- "$made"
compile stripped -Wl,--build-id && cp "$made" "$work/bin/whole" && strip "$made"
id=$(LC_ALL=C readelf -nW "$made" | sed -n 's/.*Build ID: //p')
"$agent" doctor --json -- "$made" | python3 -c 'import json, sys
found = json.load(sys.stdin)
assert found["profiles"] and [f["severity"] for f in found["findings"] if f["id"] == "symbols"] == ["note"], found' ||
	fail "doctor --json: $("$agent" doctor --json -- "$made")"
finds "no symbols" 0 "symbols: .*/usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug" -- "$made"
objcopy --only-keep-debug "$work/bin/whole" "$made.debug" && objcopy --add-gnu-debuglink="$made.debug" "$made"
silent "symbols in its directory" -- "$made"
: >"$work/section"
objcopy --add-section .go.buildinfo="$work/section" "$good" "$work/bin/go" || exit 1
finds Go 0 "go: " -- "$work/bin/go"
objcopy --add-section .go.buildinfo="$work/section" "$work/bin/bare" "$work/bin/bare_go" || exit 1
finds "Go without unwind tables of C" 0 "go: " -- "$work/bin/bare_go"
! grep -q unwind "$work/out" || fail "Go: $(cat "$work/out")"

export ASPROF_AGENT_NATIVE_MEM=64k
own=$(program mem_own)
finds "a malloc of its own" 0 "malloc: .*its own malloc" -- "$own"
${CC:-cc} -shared -fPIC -o "$work/libjemalloc.so.2" -Wl,-soname,libjemalloc.so.2 "$work/empty.c" -Dmain=other &&
	compile jemalloc -Wl,--no-as-needed "$work/libjemalloc.so.2"
finds jemalloc 0 "malloc: .*libjemalloc" -- "$made"
silent "malloc of the C library" -- "$good"
unset ASPROF_AGENT_NATIVE_MEM
silent "a malloc of its own, and no sampling of it" -- "$own"

# --- the engine's library and the preload

cp "$good" "$work/bin/java"
finds "Java, no library" 0 "java: .*not found" -- "$work/bin/java"
(export ASPROF_AGENT_ENGINE=builtin && finds "Java, builtin" 0 "java: .*builtin" -- "$work/bin/java") || exit 1
: >"$work/libasyncProfiler.so"
(export ASPROF_AGENT_ENGINE=async-profiler && finds "no engine" 1 "engine: .*libasyncProfiler.so" -- "$good") || exit 1
${CC:-cc} -shared -fPIC -o "$work/engine.so" "$work/empty.c" || exit 1
(export ASPROF_AGENT_ENGINE=async-profiler ASPROF_AGENT_LIB=$work/engine.so && silent "an engine" -- "$good") || exit 1
(export ASPROF_AGENT_LIB=$work/engine.so && silent "Java, with it" -- "$work/bin/java") || exit 1
(export ASPROF_AGENT_LIB=$work/missing.so && finds "no library" 0 \
	"engine: .*ASPROF_AGENT_LIB cannot be loaded: $work/missing.so: No such file" -- "$good") || exit 1

mkdir "$work/alone" "$work/new"
cp "$agent" "$work/alone/" && cp "$agent" "$work/new/"
(agent=$work/alone/asprof-agent && finds "no library" 1 "library: .*cannot be preloaded" -- "$good") || exit 1
echo 'void nothing(void) {}' >"$work/stub.c"
echo 'GLIBC_2.99 { nothing; };' >"$work/stub.map"
echo 'void nothing(void); void asprof_agent_call(void) { nothing(); }' >"$work/new.c"
mkdir "$work/stub"
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script="$work/stub.map" \
	-o "$work/stub/libc.so.6" "$work/stub.c" &&
	${CC:-cc} -shared -fPIC -nostdlib -o "$work/new/libasprof_preload.so" "$work/new.c" \
		"$work/stub/libc.so.6" || exit 1
(agent=$work/new/asprof-agent && finds "an old C library" 1 "libc: .*GLIBC_2.99" -- "$good") || exit 1

if [ -e "$work/bin/musl" ]; then
	(agent=$work/alone/asprof-agent && finds "no library, musl" 1 "library: .*cannot be preloaded" -- "$work/bin/musl") || exit 1
	(agent=$work/new/asprof-agent && finds "musl that lacks a function" 1 "libc: .*nothing: symbol not found" -- "$work/bin/musl") || exit 1
	[ ! -e "$work/ran" ] || fail "the doctor has run the program"
fi

# --- settings

(export ASPROF_AGENT_CPU_INTERVAL='10 parsecs' && finds "wrong value" 1 "settings: .*10 parsecs") || exit 1
(export ASPROF_AGENT_ENABLED=off && finds "off" 1 "settings: .*ENABLED") || exit 1
(export ASPROF_AGENT_CPU_INTERVALL=10ms && finds "unknown" 0 "unknown: .*CPU_INTERVALL.*CPU_INTERVAL") || exit 1
(export ASPROF_AGENT_PROCESS='redis-*' && finds "left out" 1 "left-out: .*good" -- "$good") || exit 1
(export ASPROF_AGENT_PROCESS='go*' && silent "taken in" -- "$good") || exit 1

# --- processes

waits='int main(void) { char c; return read(0, &c, 1) != 0; }'
printf '#include <linux/seccomp.h>\n#include <stdio.h>\n#include <sys/prctl.h>\n#include <unistd.h>\n%s\n' "$waits" >"$work/waits.c"
${CC:-cc} -o "$work/bin/waits" "$work/waits.c" || exit 1
sed 's/char c;/char c; prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);/' "$work/waits.c" >"$work/strict.c"
${CC:-cc} -o "$work/bin/strict" "$work/strict.c" || exit 1
mkfifo "$work/never"
exec 7<>"$work/never"
# process NAME=value... PROGRAM: leaves its pid in $pid, after it began to wait.
process() {
	env "$@" <&7 2>"$work/process.err" &
	pid=$!
	for _ in $(seq 200); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$(basename "${*: -1}")" ] &&
			grep -q '^State:.S' "/proc/$pid/status" && return
		sleep 0.05
	done
	fail "${*: -1} does not start: $(cat "$work/process.err")"
}
no_process() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}
process "$work/bin/waits"
finds "no preload" 1 "preloaded: .*no LD_PRELOAD" $pid
no_process
process LD_PRELOAD="$work/nowhere/libasprof_preload.so" "$work/bin/waits"
finds "a preload that is not there" 1 "preloaded: .*although LD_PRELOAD" $pid
no_process
process LD_PRELOAD="$preload" "$work/bin/waits"
silent "a profiled process" $pid
finds "kinds of exit" 0 "exit: SIGKILL, .*lose the samples since the last report .at most 30 s" $pid
no_process
process LD_PRELOAD="$preload" ASPROF_AGENT_SPOOL_DIR="$work/spooled" "$work/bin/waits"
silent "a process with a spool" $pid
! grep -q '^note  exit: ' "$work/all" || fail "a process with a spool: $(cat "$work/all")"
no_process
process LD_PRELOAD="$preload" ASPROF_AGENT_WALL_INTERVAL=1 "$work/bin/waits"
finds "a process with a wrong value" 1 "settings: .*WALL_INTERVAL" $pid
no_process
process "$work/bin/strict"
finds "strict seccomp" 1 "seccomp: .*strict" $pid
no_process
cat >"$work/filter.c" <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &all };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
		(argc > 1 && execvp(argv[1], argv + 1));
}
END
${CC:-cc} -o "$work/bin/filter" "$work/filter.c" || exit 1
"$work/bin/filter" "$agent" doctor >"$work/out" || fail "filter: $?"
grep -q '^note  seccomp: ' "$work/out" || fail "under a filter: $(cat "$work/out")"
if ! grep -q '^Seccomp:.[12]' /proc/self/status; then
	process "$work/bin/filter" "$work/bin/waits"
	finds "a filter of its own" 1 "seccomp: .*filter" $pid
	no_process
fi
"$agent" doctor 999999999 >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q 'process 999999999: no such process' "$work/err" || fail "no such process: $(cat "$work/err")"

# --- directories

(export ASPROF_AGENT_LOCAL_DIR=$work/empty.c/x && finds "no directory" 1 "directory: .*LOCAL_DIR=.*Not a directory") || exit 1
(export ASPROF_AGENT_LOCAL_DIR=$work/reports/to/be/made && silent "a directory to be made") || exit 1
[ ! -e "$work/reports/to" ] || fail "the directory was made"
(export ASPROF_AGENT_SPOOL_DIR=$work/empty.c && finds "spool" 1 "spool: .*SPOOL_DIR=") || exit 1
if [ ! -d /var/lib/asprof-agent ]; then
	unset ASPROF_AGENT_LOCAL_DIR
	ln -s "$work/reports" "$work/asprof-agent-$(id -u)"
	finds "a link in its place" 1 "directory: .*asprof-agent-"
	rm "$work/asprof-agent-$(id -u)" && mkdir -m 0755 "$work/asprof-agent-$(id -u)"
	finds "open to others" 1 "directory: .*others have access"
	chmod 0700 "$work/asprof-agent-$(id -u)"
	silent "a directory of the user's own"
	export ASPROF_AGENT_LOCAL_DIR=$work/reports
fi
if [ "$(id -u)" -eq 0 ]; then
	mkdir -m 0755 "$work/roots"
	ASPROF_AGENT_LOCAL_DIR=$work/roots setpriv --reuid=65534 --regid=65534 --clear-groups "$agent" doctor >"$work/out"
	[ $? = 1 ] && grep -q "^stop  directory: .*LOCAL_DIR=$work/roots: Permission denied (as user 65534)" "$work/out" ||
		fail "unwritable: $(cat "$work/out")"
	# For another user's process, that user's access is checked.
	chmod 0755 "$work/bin"
	process LD_PRELOAD="$preload" ASPROF_AGENT_LOCAL_DIR="$work/roots" setpriv --reuid=65534 --regid=65534 --clear-groups "$work/bin/waits"
	finds "unwritable for a process" 1 "directory: .*as user 65534" $pid
	no_process
	if unshare -m true 2>/dev/null; then
		mkdir "$work/full"
		unshare -m sh -c 'mount -t tmpfs -o size=4k none "$1" && echo x >"$1/x" &&
			ASPROF_AGENT_LOCAL_DIR=$1 "$2" doctor' sh "$work/full" "$agent" >"$work/out"
		[ $? = 1 ] && grep -q '^stop  directory: .*No space left' "$work/out" || fail "full: $(cat "$work/out")"
		unshare -m sh -c 'mount -t tmpfs -o ro none "$1" && ASPROF_AGENT_LOCAL_DIR=$1 "$2" doctor' sh \
			"$work/full" "$agent" >"$work/out"
		[ $? = 1 ] && grep -q '^stop  directory: .*Read-only' "$work/out" || fail "read-only: $(cat "$work/out")"
		echo 2 >"$work/paranoid"
		unshare -m sh -c 'mount --bind "$1" /proc/sys/kernel/perf_event_paranoid && ASPROF_AGENT_ENGINE=async-profiler \
			exec setpriv --reuid=65534 --clear-groups --regid=65534 "$2" doctor' sh "$work/paranoid" "$agent" >"$work/out" 2>&1
		grep -q '^note  perf: .*paranoid is 2' "$work/out" || fail "perf: $(cat "$work/out")"
	fi
fi

# --- the bucket

cat >"$work/store.py" <<'END'
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        what = self.path.split('?')[0].strip('/')
        status, code, region, ahead = {
            'good': (200, '', 'us-east-1', 0), 'refused': (403, 'AccessDenied', 'us-east-1', 0),
            'keys': (403, 'InvalidAccessKeyId', 'us-east-1', 0), 'elsewhere': (301, 'PermanentRedirect', 'eu-west-1', 0),
            'ahead': (403, 'RequestTimeTooSkewed', 'us-east-1', 7200), 'ill': (503, 'SlowDown', 'us-east-1', 0),
            'behind': (403, 'RequestTimeTooSkewed', 'us-east-1', -7200), 'none': (404, '', '', 0),
            'name': (400, 'InvalidBucketName', '', 0), 'signature': (403, 'SignatureDoesNotMatch', 'us-east-1', 0),
            'expired': (400, 'ExpiredToken', 'us-east-1', 0), 'token': (400, 'InvalidToken', 'us-east-1', 0),
        }.get(what, (404, 'NoSuchBucket', '', 0))
        if not self.headers.get('Authorization'):
            status, code = 400, 'Unsigned'
        body = ('<Error><Code>%s</Code></Error>' % code).encode() if code else b''
        self.send_response_only(status)
        self.send_header('Date', self.date_time_string(time.time() + ahead))
        if region: self.send_header('x-amz-bucket-region', region)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
mkfifo "$work/port"
python3 "$work/store.py" >"$work/port" &
store=$!
trap 'kill $store; rm -rf "$work"' EXIT
read -r port <"$work/port"
unset ASPROF_AGENT_LOCAL_DIR
export ASPROF_AGENT_S3_BUCKET=good
finds "no region" 1 "region: .*no region"
export ASPROF_AGENT_S3_ENDPOINT=http://127.0.0.1:$port
finds "no credentials" 1 "credentials: no AWS credentials"
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=secret AWS_REGION=us-east-1
silent "a good bucket"
bucket() {
	ASPROF_AGENT_S3_BUCKET=$1
	"${@:2}"
}
bucket refused silent "a policy that permits no listing"
bucket missing finds "no bucket" 1 "bucket: .*NoSuchBucket"
bucket none finds "no bucket, without a word" 1 "bucket: .*404: no such bucket"
bucket name finds "no name of a bucket" 1 "bucket: .*InvalidBucketName"
bucket keys finds "wrong keys" 1 "credentials: .*InvalidAccessKeyId"
bucket signature finds "wrong secret" 1 "credentials: .*SignatureDoesNotMatch"
bucket expired finds "an expired token" 1 "credentials: .*ExpiredToken"
bucket token finds "a wrong token" 1 "credentials: .*InvalidToken"
bucket elsewhere finds "another region" 0 "region: .*eu-west-1"
bucket ahead finds "clock" 0 "clock: .* behind"
bucket behind finds "clock" 0 "clock: .* ahead of"
bucket ill finds "an ill store" 0 "bucket: .*503"
grep -q secret "$work/out" && fail "it tells the secret"
for wrong in S3_BUCKET=Not/a/bucket S3_BUCKET_OWNER=1,2 S3_REGION=no.region/ S3_ENDPOINT=ftp://store; do
	(export "ASPROF_AGENT_$wrong" && finds "$wrong" 1 "(settings|bucket): .*${wrong#*=}") || exit 1
	tail -n 2 "$work/out" | grep -q '^      Correct the variable' || fail "$wrong: another mend: $(cat "$work/out")"
done
ASPROF_AGENT_S3_ENDPOINT=http://127.0.0.1:1
bucket good finds "no store" 1 "bucket: .*cannot be reached"

# --- usage

for arguments in --nonsense -- ; do
	"$agent" doctor $arguments >"$work/out" 2>"$work/err"
	[ $? = 2 ] || fail "usage: $arguments"
done
echo ok
