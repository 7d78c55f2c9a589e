#!/bin/sh
# Any requests to the live endpoint, however slow: the program runs as without them, clients with correct requests get
# their responses, and neither memory nor descriptors grow. FUZZ: seconds of requests with changed bytes, in pieces,
# incomplete, several at a time, and with unread responses (2; test/long: 600).
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have curl python3
program=$(program live)
socket=$work/s

# (With waits, the agent keeps files of the threads that it looks at open.)
held one WAITS=off CPU_INTERVAL=10ms NATIVE_MEM=16k LOCAL_MAX_BYTES=16m LISTEN="unix:$socket" "$program" 1
until_true grep -q ready "$work/one.out" || fail "the program does not run: $(cat "$work/one.err")"
until_true test -S "$socket" || fail "no socket"
answers 200 "$socket" /status

# open_files: descriptors of the serving thread; resident: KiB of the process.
for task in /proc/"$pid"/task/*; do
	[ "$(cat "$task/comm")" = asprof-live ] && server=$task
done
open_files() {
	ls "$server/fd" | wc -l
}
resident() {
	awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"
}
files=$(open_files) memory=$(resident)
program_files=$(ls "/proc/$pid/fd" | wc -l)

python3 - "$socket" "$pid" "${FUZZ:-2}" <<'PEERS' || fail "the endpoint: see above"
import os, random, re, socket, struct, sys, threading, time

path, pid, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
random.seed(18)

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    while True:
        try:
            s.connect(path)
            return s
        except BlockingIOError: # as many wait as may
            time.sleep(0.01)

def ask(target=b'/status', method=b'GET', body=b''):
    s = connect()
    s.sendall(method + b' ' + target + b' HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
    answer = b''
    while True:
        more = s.recv(1 << 16)
        if not more:
            return answer
        answer += more

# A thousand clients at once: each gets its response.
def thousand():
    good, bad = [], []
    def one():
        try:
            answer = ask()
            (good if answer.startswith(b'HTTP/1.1 200 ') else bad).append(answer)
        except OSError as e:
            bad.append(e)
    threads = [threading.Thread(target=one) for _ in range(1000)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert len(good) == 1000, (len(good), bad[:3])
thousand()

# More connections than allowed without a request, or with half of one: others get their responses nevertheless.
slow = [connect() for _ in range(100)]
for i, s in enumerate(slow):
    try:
        s.sendall(b'GET /status HTTP/1.1\r\nX: '[:i % 20])
    except OSError:
        pass # it had to close others
assert ask().startswith(b'HTTP/1.1 200 ')
# The rest gets nothing, and is closed after the time limit of a request.
begun = time.monotonic()
for s in slow:
    try:
        assert s.recv(100) == b''
    except ConnectionError:
        pass
    s.close()
assert time.monotonic() - begun < 60

# A client that does not read the response.
for _ in range(50):
    s = connect()
    s.sendall(b'GET /debug/pprof/ HTTP/1.1\r\n\r\n')
    s.close()

# Random bytes, and all routes with changed bytes: whole, in pieces, incomplete, several at a time, with unread
# responses, and with closed connections.
def whole(method, target, body=b'', headers=b''):
    length = b'Content-Length: %d\r\n' % len(body) if body else b''
    return method + b' ' + target + b' HTTP/1.1\r\nHost: localhost\r\n' + headers + length + b'\r\n' + body
requests = [whole(b'GET', t) for t in (b'/status', b'/metrics', b'/debug/pprof/', b'/debug/pprof/heap', b'/debug/pprof/allocs?debug=1',
    b'/debug/pprof/profile?seconds=0.02', b'/debug/pprof/wall?seconds=0.02&debug=1', b'/debug/pprof/threads?debug=1',
    b'/flamegraph?seconds=0.02', b'/recording?seconds=0.02', b'/debug/pprof/profile?seconds=nan', b'/none')]
requests += [whole(b'POST', t) for t in (b'/flush', b'/stop', b'/start', b'/start', b'/start')]
requests += [whole(b'POST', b'/options', b) for b in (b'CPU_INTERVAL=9ms', b'WALL_INTERVAL=50ms&NATIVE_MEM=32k', b'TAGS=a=b,c=%41\nSTALLS=20ms', b'STALLS=off')]
requests += [whole(b'HEAD', b'/status'), whole(b'GET', b'/metrics', headers=b'Accept: application/openmetrics-text\r\nX: ' + b'y' * 2000 + b'\r\n'),
    b'POST /options HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nTAGS=x=y\r\n0\r\n\r\n', b'GET /' + b'a' * 40000, b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']

def changed(data):
    data = bytearray(data)
    for _ in range(random.choice((0, 0, 1, 1, 2, 5))):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((1, 1, 2, 8, 100)))
        kind = random.randrange(6)
        if kind == 0: data[at:end] = os.urandom(end - at)
        elif kind == 1: del data[at:end]
        elif kind == 2: data[at:at] = data[at:end]
        elif kind == 3: data[at:at] = os.urandom(random.randrange(1, 300))
        elif kind == 4: data[at:at] = random.choice((b'\r\n', b'\0', b'%', b'-1', b'99999999999999999999', b'=', b'&'))
        else: data[at:] = random.choice(requests)[random.randrange(10):]
    return bytes(data)

hurled, wrong = [0], []
def hurl(until):
    while not wrong and time.monotonic() < until:
        data = changed(random.choice(requests)) if random.randrange(8) else os.urandom(random.randrange(1, 3000))
        if not random.randrange(6):
            data += changed(random.choice(requests)) * random.randrange(1, 4)
        way = random.randrange(12)
        s = connect()
        try:
            if way == 0: # half of it, slowly, and then closed
                for i in range(0, len(data) // 2, 1 + len(data) // 9):
                    s.sendall(data[i:i + 1 + len(data) // 9])
                    time.sleep(0.02)
            elif way == 1: # nothing is read
                s.sendall(data)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            else:
                step = 7 + (len(data) if way > 3 else len(data) // 20)
                for i in range(0, len(data), step):
                    s.sendall(data[i:i + step])
                s.shutdown(socket.SHUT_WR)
                answer = s.recv(1 << 16)
                if answer and not re.match(rb'HTTP/1\.1 (200|400|401|403|404|405|409|413|500|501|503) ', answer):
                    wrong.append((data, answer))
        except (ConnectionError, BrokenPipeError):
            pass
        except Exception as e: # also a request that is never complete
            wrong.append((data, e))
        s.close()
        hurled[0] += 1

def resident():
    return next(int(l.split()[1]) for l in open(f'/proc/{pid}/status') if l.startswith('VmRSS'))

def hurl_for(seconds):
    threads = [threading.Thread(target=hurl, args=(time.monotonic() + seconds,)) for _ in range(8)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not wrong, wrong[:3]
    assert ask().startswith(b'HTTP/1.1 200 ')

# Resources that are created once exist after the first tenth.
hurl_for(seconds / 10)
before, end = resident(), time.monotonic() + seconds * 9 / 10
while (left := end - time.monotonic()) > 0:
    hurl_for(min(left, 30))
    if seconds > 60: thousand()
print('%d requests of all sorts; resident: %d KiB after a tenth of them, then %d' % (hurled[0], before, resident()))
assert resident() < before + 16384, 'memory grows'
ask(b'/start', b'POST')
ask(b'/options', b'POST', b'CPU_INTERVAL=10ms')

# Many profiles at a time: as many as allowed; the others get an error.
codes = []
def profile():
    codes.append(ask(b'/debug/pprof/profile?seconds=1')[9:12])
threads = [threading.Thread(target=profile) for _ in range(12)]
for t in threads: t.start()
for t in threads: t.join()
assert codes.count(b'200') >= 4 and codes.count(b'200') + codes.count(b'503') == 12, codes
# A client that has disconnected frees its place for others.
for _ in range(8):
    s = connect()
    s.sendall(b'GET /debug/pprof/profile?seconds=3600 HTTP/1.1\r\n\r\n')
    time.sleep(0.05)
    s.close()
for _ in range(100):
    if ask(b'/debug/pprof/profile?seconds=0.1')[9:12] == b'200':
        break
    time.sleep(0.1)
else:
    raise AssertionError('their places are not given back')
PEERS

answers 200 "$socket" /status
until_true sh -c "[ \$(ls '$server/fd' | wc -l) -le $files ]" ||
	fail "descriptors: $files at first, then $(open_files)"
[ "$(ls "/proc/$pid/fd" | wc -l)" = "$program_files" ] || fail "the program has other descriptors than before"
echo "resident: $memory KiB at first, $(resident) KiB at the end"
[ "$(resident)" -lt $((memory + 32768)) ] || fail "memory: $memory KiB at first, then $(resident)"
[ ! -s "$work/one.err" ] || fail "it complains: $(head -n 5 "$work/one.err")"
kill "$pid"
wait "$pid"
[ $? = 143 ] || fail "it ended otherwise than by the signal"
