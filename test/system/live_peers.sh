#!/bin/sh
# Whatever is sent to the live endpoint, and however slowly: the program goes on as without, the endpoint answers
# those who ask as they should, and neither memory nor descriptors grow.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have curl python3
program=$(program live)
socket=$work/s

held one CPU_INTERVAL=10ms LISTEN="unix:$socket" "$program" 1
until_true grep -q ready "$work/one.out" || fail "the program does not run: $(cat "$work/one.err")"
until_true test -S "$socket" || fail "no socket"
answers 200 "$socket" /status

# open_files: descriptors of the thread that serves; resident: KiB of the process.
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

python3 - "$socket" <<'PEERS' || fail "the endpoint: see above"
import os, random, socket, sys, threading, time

path = sys.argv[1]
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

def ask(target=b'/status', method=b'GET'):
    s = connect()
    s.sendall(method + b' ' + target + b' HTTP/1.1\r\nHost: localhost\r\n\r\n')
    answer = b''
    while True:
        more = s.recv(1 << 16)
        if not more:
            return answer
        answer += more

# A thousand at once: each gets its answer.
good = []
def one():
    try:
        if ask().startswith(b'HTTP/1.1 200 '):
            good.append(1)
    except OSError:
        pass
threads = [threading.Thread(target=one) for _ in range(1000)]
for t in threads: t.start()
for t in threads: t.join()
assert len(good) == 1000, f'{len(good)} of 1000 answered'

# More than may be there at a time that say nothing, or half of something: others are answered all the same.
slow = [connect() for _ in range(100)]
for i, s in enumerate(slow):
    try:
        s.sendall(b'GET /status HTTP/1.1\r\nX: '[:i % 20])
    except OSError:
        pass # it had to make room
assert ask().startswith(b'HTTP/1.1 200 ')
# Those that are left get nothing and are closed within the time for a request.
begun = time.monotonic()
for s in slow:
    try:
        assert s.recv(100) == b''
    except ConnectionError:
        pass
    s.close()
assert time.monotonic() - begun < 60

# Who asks and does not take the answer.
for _ in range(50):
    s = connect()
    s.sendall(b'GET /debug/pprof/ HTTP/1.1\r\n\r\n')
    s.close()

# Garbage, and requests with some bytes changed.
whole = b'POST /options HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16\r\n\r\nCPU_INTERVAL=9ms'
for i in range(400):
    data = bytearray(whole) if i % 2 else bytearray(os.urandom(random.randrange(1, 3000)))
    for _ in range(random.randrange(1, 6)):
        data[random.randrange(len(data))] = random.randrange(256)
    s = connect()
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        answer = s.recv(1 << 16)
        assert answer == b'' or answer.startswith(b'HTTP/1.1 '), answer
    except ConnectionError:
        pass
    s.close()

# Many profiles at a time: as many as there may be, and the rest are told so.
codes = []
def profile():
    codes.append(ask(b'/debug/pprof/profile?seconds=1')[9:12])
threads = [threading.Thread(target=profile) for _ in range(12)]
for t in threads: t.start()
for t in threads: t.join()
assert codes.count(b'200') >= 4 and codes.count(b'200') + codes.count(b'503') == 12, codes
# Who has gone meanwhile leaves the place to others.
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

kill -0 "$pid" 2>/dev/null || fail "the program is gone: $(cat "$work/one.err")"
until_true sh -c "[ \$(ls '$server/fd' | wc -l) -le $files ]" ||
	fail "descriptors: $files at first, then $(open_files)"
[ "$(ls "/proc/$pid/fd" | wc -l)" = "$program_files" ] || fail "the program has other descriptors than before"
echo "resident: $memory KiB at first, $(resident) KiB at the end"
[ "$(resident)" -lt $((memory + 32768)) ] || fail "memory: $memory KiB at first, then $(resident)"
[ ! -s "$work/one.err" ] || fail "it complains: $(head -n 5 "$work/one.err")"
