#!/bin/bash
# A process that pretends to be profiled. It gets no token unless it may have it, and requests for it reach no other
# process. Its responses neither crash the command nor control the terminal. If it does not answer, it does not delay
# others.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have python3
program=$(program live)
token=a-token-that-nobody-may-have

cat >"$work/impostor.py" <<'END'
import ctypes, os, socket, sys, threading, time
way, path, log = sys.argv[1:4]
libc = ctypes.CDLL(None)
EVIL = '\\u001b[31m\\u009b2J\\u202e\\n'
STATUS = ('{"pid":1,"executable":"%s","running":true,"engine":"%s","since_ms":1e300,"a%s":"b%s","c_ms":9e99,'
    '"d_ms":253402300800000,"e":1e308,"list":[{"name":"%s","f_ms":1e17},1,"g",[{"h":2}]],'
    '"samples":{"taken":1e308,"lost":-1e308},"reports":{"last_ms":1e999}}' % ((EVIL,) * 5)).encode()
if way == 'raw': STATUS = STATUS[:-1] + b',"raw":"\n\x9b2J\xc2\x9b2J\n"}'
if way.startswith('areas='): STATUS = b'0x1000 0x1000 0x9000 0x1000 0x1000 1 2 ' + way[6:].encode()
if way == 'costs': STATUS = b'{"cost":{"program_cpu_ns":%s,"elapsed_ns":1e308,"cpu":{"percent":%s,"samples":%s}}}' % tuple(path[path.rfind('/') + 1:].encode().split(b','))
STATUS += {'trails': b'\n{"pid":2}', 'ends': b'\0x'}.get(way, b'')
def head(body): return b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body
def serve():
    libc.prctl(15, b'asprof-live', 0, 0, 0)
    unix = path.startswith('/')
    s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    s.bind(path if unix else ('127.0.0.1', int(path)))
    s.listen(100)
    if way == 'linked':
        os.unlink(path); os.symlink(sys.argv[4], path)
    if way == 'hard':
        os.unlink(path); os.link(sys.argv[4], path)
    print('ready ' + ('' if unix else str(s.getsockname()[1])), flush=True)
    kept = []
    while True:
        c, _ = s.accept()
        kept.append(c)
        if way == 'silent': continue
        if way == 'mute':
            c.recv(65536)
            c.shutdown(2)
            continue
        if way == 'drips':
            def drip(c=c):
                try:
                    while True: c.send(b'H'); time.sleep(0.2)
                except OSError: pass
            threading.Thread(target=drip, daemon=True).start()
            continue
        request = c.recv(65536)
        open(log, 'ab').write(request)
        if way == 'short':
            c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{"running":true}')
            c.shutdown(2)
            continue
        c.sendall(head(b'\x1b[2J\xc2\x9b2J\xe2\x80\xae\x07 main\n' if b'threads' in request else STATUS))
        c.close()
serve()
END
# impostor WAY PATH [OTHER]: leaves its pid in $pid; the requests are in $work/asked.
impostors=0
impostor() {
	impostors=$((impostors + 1))
	python3 "$work/impostor.py" "$1" "$2" "$work/asked" "${@:3}" >"$work/impostor.$impostors" 2>&1 &
	pid=$!
	running="$running $pid"
	until_true grep -q ready "$work/impostor.$impostors" || fail "$1: $(cat "$work/impostor.$impostors")"
}
over() {
	kill "$1"
	wait "$1" 2>/dev/null
}

held one LISTEN="unix:$work/one.sock" "$program"
one=$pid
until_true "$agent" status "$one" || fail "no endpoint: $("$agent" status "$one" 2>&1)"
goes_on() {
	"$agent" status "$one" | grep -q '^running  *yes$' || fail "$1: the order reached another process"
}

# ---- no other process gets the request ----
for way in linked hard; do
	impostor $way "$work/$way.sock" "$work/one.sock"
	for order in stop flush status; do
		"$agent" $order "$pid" >"$work/said" 2>&1 && fail "$way: $order is done: $(cat "$work/said")"
		grep -q "process $pid: another process answers" "$work/said" || fail "$way: $(cat "$work/said")"
	done
	goes_on $way
	over "$pid"
done

# ---- a name with an end of line, which looks like a line of the kernel's list ----
cat >"$work/forger.py" <<'END'
import os, socket, sys
inode = next(line.split()[6] for line in open('/proc/net/unix') if line.rstrip().endswith(sys.argv[1]))
kept = []
os.makedirs(sys.argv[3])
os.chdir(sys.argv[3])
for i in range(300): # the list is sorted by inode numbers
    name = '%d\n0: 2 0 10000 1 1 %s %s' % (i, inode, sys.argv[2])
    os.makedirs(os.path.dirname(name))
    s = socket.socket(socket.AF_UNIX)
    s.bind(name)
    s.listen()
    kept.append(s)
print('ready', flush=True)
sys.stdin.read()
END
impostor silent "$work/forged.sock"
forged=$pid
mkfifo "$work/forge"
for path in "$work/forged.sock" /nowhere; do
	python3 "$work/forger.py" "$work/one.sock" "$path" "$work/names$path" <"$work/forge" >"$work/forger" 2>&1 &
	pid=$!
	running="$running $pid"
	exec 7>"$work/forge"
	until_true grep -q ready "$work/forger" || fail "$(cat "$work/forger")"
	"$agent" flush "$one" >"$work/said" 2>&1 || fail "a name hides the socket: $(cat "$work/said")"
	goes_on forged
	exec 7>&-
	wait "$pid"
done
over "$forged"

# ---- a socket of an ended process, whose pid the requested process has now ----
cat >"$work/stale.py" <<'END'
import ctypes, os, socket, sys, time
work, program, preload = sys.argv[1:]
last = '/proc/sys/kernel/ns_last_pid'
def listener(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    return s
for attempt in range(50):
    stale = listener('%s/stale.%d' % (work, attempt))
    pid = os.fork()
    if not pid:
        stale.listen()
        os._exit(0)
    os.waitpid(pid, 0)
    try:
        open(last, 'w').write(str(pid - 1))
    except OSError:
        print('skip', flush=True)
        sys.exit()
    victim = os.fork()
    if not victim:
        if os.getpid() != pid:
            os._exit(0)
        own = '%s/own.sock' % work
        ctypes.CDLL(None).prctl(1, 15) # it ends with this process
        os.execve(program, [program], dict(os.environ, LD_PRELOAD=preload, ASPROF_AGENT_LISTEN='unix:' + own,
            ASPROF_AGENT_LOCAL_DIR=work + '/stale', ASPROF_AGENT_ENGINE='builtin', ASPROF_AGENT_START_DELAY='0'))
    if victim == pid:
        break
    os.waitpid(victim, 0)
else:
    print('skip', flush=True)
    sys.exit()
while True:
    lines = [line for line in open('/proc/net/unix') if line.rstrip().endswith('/own.sock')]
    if lines:
        break
    time.sleep(0.1)
os.mkdir(work + '/lines')
os.chdir(work + '/lines')
kept = []
for i in range(300):
    name = '%d\n0: 2 0 10000 1 1 %s %s/stale.%d' % (i, lines[0].split()[6], work, attempt)
    os.makedirs(os.path.dirname(name))
    kept.append(listener(name))
    kept[-1].listen()
print(f'ready {victim}', flush=True)
while True:
    c, _ = stale.accept()
    try: # the command may have closed the connection
        c.recv(65536)
        c.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"executable":"impostor"}')
    except OSError:
        pass
    c.close()
END
python3 "$work/stale.py" "$work" "$program" "$preload" >"$work/stale.out" 2>&1 &
stale=$!
running="$running $stale"
until_true grep -qx 'ready [0-9]*\|skip' "$work/stale.out" || fail "$(cat "$work/stale.out")"
if grep -q '^ready' "$work/stale.out"; then
	pid=$(awk '{ print $2 }' "$work/stale.out")
	"$agent" status "$pid" >"$work/said" 2>&1
	kill "$pid"
	grep -q '^executable  *live$' "$work/said" || grep -q "process $pid: another process answers" "$work/said" ||
		fail "another process answers: $(cat "$work/said")"
	over "$stale"
fi

# ---- no token ----
: >"$work/asked"
export ASPROF_AGENT_LISTEN_TOKEN=$token
impostor answers "$work/fake.sock"
"$agent" status "$pid" >"$work/said" 2>&1 || fail "status $?: $(cat "$work/said")"
"$agent" ps >"$work/ps" 2>&1 || fail "ps: status $?: $(cat "$work/ps")"
grep -q 'GET /status' "$work/asked" || fail "it was not asked"
! grep -q $token "$work/asked" || fail "a Unix socket got the token: $(cat "$work/asked")"
fake=$pid
# At an address: a process that is named by pid gets it, because it owns the listening socket; a process that was only
# found does not.
: >"$work/asked"
impostor answers 0
"$agent" ps >"$work/ps" 2>&1 || fail "ps: status $?: $(cat "$work/ps")"
grep -q 'GET /status' "$work/asked" || fail "it was not asked"
! grep -q $token "$work/asked" || fail "ps gives the token to whoever is there: $(cat "$work/asked")"
"$agent" status "$pid" >"$work/said" 2>&1 || fail "status $?: $(cat "$work/said")"
grep -q "Bearer $token" "$work/asked" || fail "no token for an address: $(cat "$work/asked")"
over "$pid"
# In its network namespace, another process listens at that address.
if unshare -n true 2>/dev/null && [ "$(id -u)" = 0 ]; then
	impostor answers 0
	port=$(awk '{ print $2 }' "$work/impostor.$impostors")
	here=$pid
	cat >"$work/apart.sh" <<'END'
ip link set lo up 2>/dev/null
exec python3 "$@"
END
	impostors=$((impostors + 1))
	unshare -n sh "$work/apart.sh" "$work/impostor.py" answers "$port" "$work/asked.apart" >"$work/impostor.$impostors" 2>&1 &
	apart=$!
	running="$running $apart"
	until_true grep -q ready "$work/impostor.$impostors" || fail "apart: $(cat "$work/impostor.$impostors")"
	: >"$work/asked"
	"$agent" status "$apart" >"$work/said" 2>&1 && fail "another network namespace: $(cat "$work/said")"
	grep -q 'in another network namespace' "$work/said" || fail "$(cat "$work/said")"
	[ ! -s "$work/asked" ] || fail "the token went to a stranger: $(cat "$work/asked")"
	over "$apart"
	over "$here"
fi
unset ASPROF_AGENT_LISTEN_TOKEN

# ---- its responses ----
impostor raw "$work/raw.sock"
"$agent" status "$fake" >"$work/status" 2>"$work/said" || fail "status $?: $(cat "$work/said")"
"$agent" status "$fake" --json >"$work/json" 2>>"$work/said" || fail "status --json: $?: $(cat "$work/said")"
"$agent" status "$pid" --json >"$work/raw" 2>>"$work/said" || fail "status --json: $?: $(cat "$work/said")"
"$agent" threads "$fake" >"$work/threads" 2>>"$work/said" || fail "threads: $?: $(cat "$work/said")"
"$agent" ps >"$work/ps" 2>>"$work/said" || fail "ps: $?: $(cat "$work/said")"
grep -q '^d  *2.53e+14$' "$work/status" && grep -q '^c  *9e+99$' "$work/status" &&
	grep -q '^pid  *1$' "$work/status" || fail "$(cat "$work/status")"
"$agent" ps --json | python3 -c 'import json, sys; json.load(sys.stdin)' || fail "ps --json: $("$agent" ps --json)"
[ "$(grep -c "^ *$fake " "$work/ps")" = 1 ] && [ "$(grep -cvE '^ *[0-9]+ |^ *PID ' "$work/ps")" = 0 ] ||
	fail "ps: $(cat "$work/ps")"
grep -q main "$work/threads" || fail "threads: $(cat "$work/threads")"
python3 - "$work/status" "$work/json" "$work/raw" "$work/threads" "$work/ps" "$work/said" <<'END' || fail 'not clean'
import sys
turns = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
for name in sys.argv[1:]:
    for line in open(name, 'rb').read().decode().split('\n'):
        bad = [hex(ord(c)) for c in line if ord(c) < 32 and c != '\t' or 127 <= ord(c) < 160 or c in turns]
        if bad:
            sys.exit(f'{name}: {bad} in {line!r}')
END
over "$fake"
over "$pid"

# ---- costs that are infinite, which is not JSON ----
for numbers in 1e308,1e308,1 1e-308,1,1 1,1,1e-308; do
	impostor costs "$work/$numbers"
	"$agent" cost "$pid" --json --cpu 1ms >"$work/json" 2>"$work/said" || fail "costs $numbers: $(cat "$work/said")"
	python3 -c 'import json, sys; json.load(sys.stdin, parse_constant=sys.exit)' <"$work/json" && ! grep -q inf "$work/json" ||
		fail "costs $numbers: $(cat "$work/json")"
	over "$pid"
done

# ---- a response with more than its JSON, which scripts would read too ----
for way in trails ends; do
	impostor $way "$work/$way.sock"
	"$agent" status "$pid" --json >"$work/json" 2>"$work/said" && fail "$way: $(cat "$work/json")"
	grep -q "process $pid: the answer is not JSON" "$work/said" && [ ! -s "$work/json" ] ||
		fail "$way: $(cat "$work/json" "$work/said")"
	over "$pid"
done

# ---- a response that is not complete, as of a process that ends while it answers ----
impostor short "$work/short.sock"
"$agent" status "$pid" >"$work/said" 2>&1 && fail "an incomplete response: $(cat "$work/said")"
grep -q "process $pid: the answer is incomplete, 16 of 4000 bytes" "$work/said" || fail "$(cat "$work/said")"
"$agent" profile "$pid" --unchanged -t 0.1s -o "$work/short.jfr" >"$work/said" 2>&1 && fail "an incomplete recording: $(cat "$work/said")"
[ ! -e "$work/short.jfr" ] || fail 'an incomplete recording is written'
over "$pid"
impostor mute "$work/mute.sock"
"$agent" status "$pid" >"$work/said" 2>&1 && fail "no response: $(cat "$work/said")"
grep -q "process $pid: no answer: it has ended, or closed the connection" "$work/said" || fail "$(cat "$work/said")"
over "$pid"

# ---- memory of an agent that no agent has: detach copies none of it ----
for bytes in 0 63 9223372036854775808 1048576; do
	impostor "areas=$bytes" "$work/areas.$bytes.sock"
	"$agent" detach "$pid" >"$work/said" 2>&1 && fail "areas of $bytes bytes: $(cat "$work/said")"
	grep -q "process $pid: the answer to /detach is not valid" "$work/said" || fail "areas of $bytes bytes: $(cat "$work/said")"
	over "$pid"
done

# ---- more processes than descriptors ----
cat >"$work/many.py" <<'END'
import ctypes, os, socket, sys, time
body = b'{"executable":"many"}'
libc = ctypes.CDLL(None)
for i in range(40):
    s = socket.socket(socket.AF_UNIX)
    s.bind('%s/many.%d' % (sys.argv[1], i))
    if not os.fork():
        libc.prctl(1, 9) # it ends with this process
        libc.prctl(15, b'asprof-live', 0, 0, 0)
        s.listen()
        os.write(1, b'listens\n') # print writes the end of the line separately
        while True:
            c, _ = s.accept()
            c.recv(65536)
            time.sleep(0.3)
            c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
            c.close()
    s.close()
time.sleep(600)
END
python3 "$work/many.py" "$work" >"$work/many" 2>&1 &
pid=$!
running="$running $pid"
until_true sh -c "[ \$(grep -c listens '$work/many') = 40 ]" || fail "$(cat "$work/many")"
(
	ulimit -Sn 24
	exec "$agent" ps
) >"$work/ps" 2>&1
[ "$(grep -c '^ *[0-9]* many  *stopped ' "$work/ps")" = 40 ] || fail "ps with few descriptors: $(cat "$work/ps")"
over "$pid"

# ---- no response ----
for i in 1 2 3 4 5; do
	impostor silent "$work/silent.$i"
	impostor drips "$work/drips.$i"
done
# One after another they would take 150 s and for ever.
timeout 60 "$agent" ps >"$work/ps" 2>&1 || fail "ps: status $?: $(cat "$work/ps")"
[ "$(grep -c 'no answer$' "$work/ps")" -ge 10 ] && grep -q "^ *$one live  *builtin " "$work/ps" || fail "ps: $(cat "$work/ps")"
goes_on 'at the end'
