#!/bin/bash
# `asprof-agent doctor PID` evaluates a process's environment only with the rights of that process's user. It does not
# run a program that the environment names, and does not send a file that only the caller can read. It evaluates
# nothing if the environment may be another user's.
. "$(dirname "$0")/agent.inc"
have python3 setpriv
[ "$(id -u)" = 0 ] || skip "only root can look into the processes of others"
setpriv --reuid=65534 --regid=65534 --groups=65533 true 2>/dev/null || skip "no other users here"
for_everybody
cp "$agent" "$work/client" && agent=$work/client
mkdir -m 755 "$work/bin"
mkdir -m 700 "$work/roots"
mkdir -m 777 "$work/theirs"
export TMPDIR=$work/theirs

started=
# shellcheck disable=SC2086 # numbers
trap 'end_own TERM $started; wait; rm -rf "$work"' EXIT

cat >"$work/waits.c" <<'END'
#include <unistd.h>
int main(int argc, char **argv)
{
	char c;

	(void)argv;
	if (argc > 1 && setresuid(0, 0, 0))
		return 1;
	return read(0, &c, 1) != 0;
}
END
waits=$work/bin/waits
${CC:-cc} -D_GNU_SOURCE -o "$waits" "$work/waits.c" || exit 1
install -m 4755 "$waits" "$work/bin/gains"
chmod 755 "$waits"

# A server that accepts any request, and records its contents and the sending process.
cat >"$work/server.py" <<'END'
import http.server, os, sys
def peer(port):
    for line in open('/proc/net/tcp').read().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(':%04X' % port) and fields[3] == '01':
            return fields[9]
def process(inode):
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            for fd in os.listdir(f'/proc/{pid}/fd'):
                if os.readlink(f'/proc/{pid}/fd/{fd}') == f'socket:[{inode}]':
                    return pid
        except OSError:
            pass
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        pid = process(peer(self.client_address[1]))
        with open(sys.argv[1], 'ab') as log:
            log.write(self.requestline.encode() + b'\n' + body + b'\n')
            for line in open(f'/proc/{pid}/status', 'rb'):
                if line.split(b':')[0] in (b'Uid', b'Gid', b'Groups', b'CapEff', b'CapPrm', b'NoNewPrivs'):
                    log.write(b' '.join(line.split()) + b'\n')
            log.write(b'session %d\n' % (os.getsid(int(pid)) == int(pid)))
            log.write(b'environ %d\n' % (b'CALLERS_SECRET' in open(f'/proc/{pid}/environ', 'rb').read()))
            files = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
            log.write(b'callers file %d\n' % any('callers_file' in name for name in files))
        self.send_response(400)
        self.send_header('Content-Length', '0')
        self.end_headers()
    do_GET = do_POST = do_PUT = do_HEAD = answer
    def log_message(self, *args): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
mkfifo "$work/port"
python3 "$work/server.py" "$work/sent" >"$work/port" &
started=$!
read -r port <"$work/port"

mkfifo "$work/never"
exec 7<>"$work/never"
# launch NAME=value... COMMAND...: leaves its pid in $pid.
launch() {
	env AWS_EC2_METADATA_DISABLED=true AWS_REGION=us-east-1 ASPROF_AGENT_S3_BUCKET=bucket \
		ASPROF_AGENT_S3_ENDPOINT="http://127.0.0.1:$port" AWS_ENDPOINT_URL="http://127.0.0.1:$port" \
		LD_PRELOAD= "$@" <&7 2>"$work/process.err" &
	pid=$!
	started="$started $pid"
}

# process: like launch, but waits until the command reads its standard input. The name of the process is not enough: a
# command of a version manager such as pyenv has the program's name before it becomes the program.
process() {
	launch "$@"
	for _ in $(seq 1000); do
		grep -q '^\(0\|63\) 0x0 ' "/proc/$pid/syscall" 2>/dev/null && return
		sleep 0.02
	done
	fail "$*: it does not start: $(cat "$work/process.err")"
}

# examined: doctor's output for process $pid is in $work/out, and the server's requests are in $work/sent.
examined() {
	: >"$work/sent"
	timeout 100 env CALLERS_SECRET=1 "$agent" doctor "$pid" >"$work/out" 2>&1 8<"$work/callers_file"
	status=$?
	[ $status -lt 124 ] || fail "doctor: status $status: $(cat "$work/out")"
}
: >"$work/callers_file"

other=(setpriv --reuid=65534 --regid=65534 --groups="65532,65533")
printf '[default]\ncredential_process = touch %s/theirs/marker\n' "$work" >"$work/config"
chmod 644 "$work/config"

# ---- programs ----
for who in other root; do
	user=()
	[ $who = root ] || user=("${other[@]}")
	process AWS_CONFIG_FILE="$work/config" "${user[@]}" "$waits"
	examined
	[ ! -e "$work/theirs/marker" ] || fail "$who: the process's program was run: $(ls -l "$work/theirs")"
	grep -q '^note  credentials: .*credential_process' "$work/out" || fail "$who: $(cat "$work/out")"
done
# The caller's own program is run, as the agent would.
(
	export AWS_CONFIG_FILE=$work/config ASPROF_AGENT_S3_BUCKET=bucket AWS_REGION=us-east-1 \
		ASPROF_AGENT_S3_ENDPOINT="http://127.0.0.1:$port"
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	"$agent" doctor >"$work/out" 2>&1
	[ -e "$work/theirs/marker" ] || fail "the caller's own was not run: $(cat "$work/out")"
) || exit 1
rm "$work/theirs/marker"

# ---- files ----
token() {
	process AWS_ROLE_ARN=arn:aws:iam::123456789012:role/r AWS_WEB_IDENTITY_TOKEN_FILE="$1" "${@:2}"
	examined
}
echo a-token-that-all-may-read >"$work/open" && chmod 644 "$work/open"
(umask 077 && echo a-token-of-root >"$work/closed")
token "$work/closed" "${other[@]}" "$waits"
! grep -q a-token-of-root "$work/sent" || fail "a file that only root may read was sent: $(cat "$work/sent")"
grep -q 'closed: Permission denied' "$work/out" || fail "$(cat "$work/out")"
token "$work/open" "${other[@]}" "$waits"
grep -q a-token-that-all-may-read "$work/sent" || fail "the user's own file is not used: $(cat "$work/out" "$work/sent")"
# The sending process has become the user. It has none of the caller's secrets and descriptors, and cannot become
# another user.
for line in 'Uid: 65534 65534 65534 65534' 'Gid: 65534 65534 65534 65534' 'Groups: 65532 65533' \
	'CapEff: 0000000000000000' 'CapPrm: 0000000000000000' 'NoNewPrivs: 1' 'session 1' 'environ 0' 'callers file 0'; do
	grep -qx "$line" "$work/sent" || fail "not '$line': $(cat "$work/sent")"
done
# A process that has dropped root itself, so its user may not read its memory.
drops='import os, sys
os.setgroups([65533]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
sys.stdin.read(1)'
token "$work/open" python3 -c "$drops"
grep -qx 'Uid: 65534 65534 65534 65534' "$work/sent" && grep -qx 'Groups: 65533' "$work/sent" ||
	fail "one that has dropped root: $(cat "$work/out" "$work/sent")"
# The directory is checked with the user's rights.
process ASPROF_AGENT_LOCAL_DIR="$work/roots" "${other[@]}" "$waits"
examined
grep -q "^stop  directory: .*$work/roots: Permission denied (as user 65534)" "$work/out" || fail "$(cat "$work/out")"
# A program's file that the user may not read is not read.
install -m 711 "$waits" "$work/theirs/waits"
process "${other[@]}" "$work/theirs/waits"
examined
grep -q '^stop  program: .*cannot be read' "$work/out" || fail "$(cat "$work/out")"

# ---- the environment is not the user's own ----
# refused WHAT: nothing was sent, and a message gives the reason.
refused() {
	! grep -q . "$work/sent" && [ $status = 1 ] && grep -q "$2" "$work/out" ||
		fail "$1: $(cat "$work/out" "$work/sent")"
}
token "$work/closed" "${other[@]}" "$work/bin/gains"
refused "set-user-ID" 'set-user-ID'
token "$work/closed" "${other[@]}" "$work/bin/gains" 1
refused "set-user-ID, all of whose users are root" 'set-user-ID'
token "$work/closed" python3 -c 'import os, sys
os.setresuid(65534, 65534, 0); sys.stdin.read(1)'
refused "several users" 'several users'
token "$work/closed" python3 -c 'import os, sys
os.setresgid(0, 65534, 0); sys.stdin.read(1)'
refused "several groups" 'several users'

# ---- processes in another namespace ----
if unshare -m true 2>/dev/null; then
	token "$work/open" unshare -m "$waits"
	! grep -q . "$work/sent" && grep -q '^note  bucket: not checked' "$work/out" ||
		fail "in a mount namespace of its own: $(cat "$work/out" "$work/sent")"
	# Names are looked up in its root directory.
	mkdir -p "$work/jail/etc" && ln -s / "$work/jail/out"
	ldd "$waits" | grep -o '/[^ ]*' | while read -r file; do
		mkdir -p "$work/jail$(dirname "$file")" && cp -L "$file" "$work/jail$file"
	done
	cp "$waits" "$work/jail/waits"
	chmod -R go+rX "$work/jail"
	process ASPROF_AGENT_S3_BUCKET= ASPROF_AGENT_LOCAL_DIR="/out$work/theirs" ASPROF_AGENT_UNKNOWN=1 \
		chroot --userspec=65534:65534 "$work/jail" /waits
	examined
	grep -q "^stop  directory: .*LOCAL_DIR=/out$work/theirs: " "$work/out" && grep -q '^note  unknown: .*ASPROF_AGENT_UNKNOWN' "$work/out" &&
		! grep -q '^stop  program' "$work/out" || fail "in a root directory of its own: $(cat "$work/out")"
fi

# A file system whose server does not answer root. The server may belong to the process's user.
cat >"$work/silent.py" <<'END'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
fuse = os.open('/dev/fuse', os.O_RDWR)
options = 'fd=%d,rootmode=40755,user_id=65534,group_id=65534,allow_other' % fuse
if libc.unshare(0x20000) or libc.mount(None, b'/', None, 0x44000, None) or \
        libc.mount(b'silent', sys.argv[1].encode(), b'fuse', 0, options.encode()):
    sys.exit('no mounts')
if not os.fork():
    os.close(fuse)
    os.chroot(sys.argv[1]); os.chdir('/'); os.setgroups([])
    os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
    libc.prctl(1, 9) # it ends with the server
    print(os.getpid(), flush=True)
    sys.stdin.read(1)
    os._exit(0)
INIT, GETATTR, ACCESS = 26, 3, 34
while True:
    _, call, number, _, user = struct.unpack('<IIQQI', os.read(fuse, 1 << 17)[:28])
    error, answer = -2, b''
    if call == INIT:
        error, answer = 0, struct.pack('<4I2H2I2H8I', 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
    elif call == ACCESS:
        error = -38
    elif user == 0:
        continue
    elif call == GETATTR:
        error, answer = 0, struct.pack('<Q2I6Q10I', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 65534, 65534, 0, 4096, 0)
    os.write(fuse, struct.pack('<IiQ', 16 + len(answer), error, number) + answer)
END
mkdir "$work/silent"
if [ -c /dev/fuse ] && unshare -m true 2>/dev/null; then
	launch python3 "$work/silent.py" "$work/silent" >"$work/silent.pid"
	for _ in $(seq 500); do
		[ ! -s "$work/silent.pid" ] || break
		sleep 0.02
	done
	pid=$(cat "$work/silent.pid")
	[ -n "$pid" ] || fail "no file system: $(cat "$work/process.err")"
	timeout -s KILL 20 "$agent" doctor "$pid" >"$work/out" 2>&1
	status=$?
	[ $status -lt 124 ] && grep -q '^note  bucket: not checked' "$work/out" || fail "a silent file system: status $status: $(cat "$work/out")"
fi

# ---- callers without permission ----
process "$waits"
setpriv --reuid=65534 --regid=65534 --clear-groups "$agent" doctor "$pid" >"$work/out" 2>&1
[ $? = 1 ] && grep -q 'Permission denied' "$work/out" || fail "another user: $(cat "$work/out")"
process "${other[@]}" "$waits"
setpriv --reuid=65534 --regid=65534 --groups=65532,65533 "$agent" doctor "$pid" >"$work/out" 2>&1
grep -q '^stop  preloaded: ' "$work/out" || fail "its own user: $(cat "$work/out")"
"$agent" doctor 4194303 >"$work/out" 2>&1
[ $? = 1 ] && grep -q 'process 4194303: no such process' "$work/out" || fail "no process: $(cat "$work/out")"
echo ok
