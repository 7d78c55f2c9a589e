#!/bin/sh
# Stops and starts again and again under load, and as many changes of options. No memory, descriptor, thread or timer
# is left. The program behaves as without the agent, and the recordings have all samples between stops. After a stop,
# timers, threads and handlers are as before the start. TIMES=60 ENGINE=builtin (test/long: 1000, and both engines)
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have python3
times=${TIMES:-60}
engine=${ENGINE:-builtin}
[ "$engine" = builtin ] || [ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB names no async-profiler"
lib=${ASPROF_TEST_LIB:-libasyncProfiler.so}
program=$(program live)
socket=$work/s

held one ENGINE="$engine" LIB="$lib" CPU_INTERVAL=2ms WALL_INTERVAL=10ms NATIVE_MEM=64k LOCAL_MAX_BYTES=4m LISTEN="unix:$socket" "$program" 1
until_true grep -q ready "$work/one.out" || fail "the program does not run: $(cat "$work/one.err")"
until_true test -S "$socket" || fail "no socket"

python3 - "$socket" "$pid" "$times" "$engine" <<'STEER' || fail "see above"
import os, socket, sys, time
path, pid, times, engine = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]

def ask(method, target, body=b''):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(path)
    s.sendall(b'%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' % (method, target, len(body), body))
    answer = b''
    while True:
        more = s.recv(1 << 16)
        if not more:
            break
        answer += more
    s.close()
    assert answer.startswith(b'HTTP/1.1 200 '), (target, answer)

def tasks():
    return sorted(open(f'/proc/{pid}/task/{t}/comm').read() for t in os.listdir(f'/proc/{pid}/task'))

def state():
    server = next(t for t in os.listdir(f'/proc/{pid}/task')
                  if open(f'/proc/{pid}/task/{t}/comm').read() == 'asprof-live\n')
    try:
        timers = open(f'/proc/{pid}/timers').read().count('ID:')
    except FileNotFoundError:
        timers = 0
    said = dict(l.split(':\t', 1) for l in open(f'/proc/{pid}/status').read().splitlines())
    return (len(os.listdir(f'/proc/{pid}/fd')), len(os.listdir(f'/proc/{pid}/task/{server}/fd')), timers,
            tasks(), said['SigCgt'] + said['SigIgn'], int(said['VmRSS'].split()[0]))

def steer(count):
    for i in range(count):
        ask(b'POST', b'/stop')
        ask(b'POST', b'/start')
        ask(b'POST', b'/options', b'CPU_INTERVAL=%dms&TAGS=turn=%d' % (1 + i % 9, i))

# Resources that are created once exist after the first round.
steer(20)
ask(b'POST', b'/stop')
time.sleep(1) # the endpoint has closed the connection
before = state()
assert before[2] == 0, f'{before[2]} timers are left after a stop'
ask(b'POST', b'/start')
steer(times - 20)
ask(b'POST', b'/stop')
for _ in range(100):
    after = state()
    if after[:5] == before[:5]:
        break
    time.sleep(0.1)
print('resident: %d KiB after 20, %d KiB after %d' % (before[5], after[5], times))
assert before[:5] == after[:5], (before, after)
assert after[5] < before[5] + 8192, 'memory grows'
ask(b'POST', b'/start')
assert state()[4] != after[4], 'no handler while it samples, or one behind a stop'
STEER
kill -0 "$pid" || fail "the program is gone"
[ ! -s "$work/one.err" ] || fail "it complains: $(head -n 5 "$work/one.err")"
# (There may be no time for one between a start and the next stop.)
sampled() {
	ask "$socket" /flush -X POST >/dev/null
	"$agent" collapsed "$work/one" | grep -q 'main;spin'
}
until_true sampled || fail "no sample of spin()"
kill "$pid"
wait "$pid"

# Samples are lost only in the gaps. For the CPU time between the response to a start and the next request to stop,
# there is a sample per interval. The last tick, at most 10 ms, may be missing, because the kernel may not have
# reported it yet. Each sample that was taken is in the recordings.
held two ENGINE="$engine" LIB="$lib" CPU_INTERVAL=2ms WALL_INTERVAL=off LISTEN="unix:$socket.2" "$program" 1
until_true test -S "$socket.2" || fail "no socket"
python3 - "$socket.2" "$pid" >"$work/taken" <<'COUNT' || fail "see above: $(cat "$work/taken")"
import json, os, socket, sys, time
path, pid = sys.argv[1], sys.argv[2]

def ask(method, target):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(path)
    s.sendall(b'%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n' % (method, target))
    answer = b''
    while more := s.recv(1 << 16):
        answer += more
    assert answer.startswith(b'HTTP/1.1 200 '), (target, answer)
    return answer.split(b'\r\n\r\n', 1)[1]

def taken():
    status = json.loads(ask(b'GET', b'/status'))
    assert status['samples']['lost'] == 0, status
    return status['samples']['taken']

# The CPU time of the program's own threads, in intervals.
def intervals():
    total = 0
    for t in os.listdir(f'/proc/{pid}/task'):
        if not open(f'/proc/{pid}/task/{t}/comm').read().startswith('asprof'):
            total += int(open(f'/proc/{pid}/task/{t}/schedstat').read().split()[0])
    return total / 2e6

ask(b'POST', b'/stop')
first = total = taken()
least = most = 0
for turn in range(8):
    outside = intervals()
    ask(b'POST', b'/start')
    inside = intervals()
    while intervals() < inside + 50:
        time.sleep(0.01)
    inside = intervals() - inside
    ask(b'POST', b'/stop')
    outside = intervals() - outside
    least += inside - 6
    most += outside + 2 # one for each thread that has begun one
    total += taken() # since this start
print(first, total, '%.0f %.0f' % (least, most))
COUNT
kill "$pid"
wait "$pid"
recorded=$("$agent" summary "$work/two" | awk '$NF == "jdk.ExecutionSample" { print $1 }')
read -r first taken least most <"$work/taken"
echo "$((recorded - first)) samples, of $least to $most that are due"
[ $((recorded - first)) -ge "$least" ] && [ $((recorded - first)) -le "$most" ] || fail "samples are lost, or made up"
# (Not checked with async-profiler, which has counters of its own.)
[ "$engine" != builtin ] || [ "$recorded" = "$taken" ] || fail "$recorded samples in the recordings, $taken taken"
