#!/bin/bash
# A real Pyroscope takes every report of three services, and of one that sends by OTLP, and what it answers has, by function and for each type, the totals
# of the reports' files: also when it is ended and begun again in between, refuses what is large and what is much (413, 429),
# and is away for a while; and when what stands in front of it has no time (503), is slow, or loses answers. What was sent
# twice for a lost answer it puts right itself, which takes minutes: answers are lost where SECONDS_RUN (60), which is how
# long this goes on, is 300 and more. PYROSCOPE is the server (docs/fleet.md says which).
. "$(dirname "$0")/../system/agent.inc"
. test/system/push.inc
PYROSCOPE=${PYROSCOPE:-pyroscope}
have "$PYROSCOPE"
SECONDS_RUN=${SECONDS_RUN:-60}
interval=5

ports=$(/usr/bin/python3 -c 'import socket
all = [socket.socket() for i in range(6)]
for s in all:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in all])')
read -r http grpc gossip raft redis front <<<"$ports"
url=http://127.0.0.1:$http

# begin_server [SWITCH...]: on loopback alone; it tells nobody of itself, and does not profile itself.
mkdir "$work/server"
begin_server() {
	(cd "$work/server" && exec "$PYROSCOPE" -target=all -architecture.storage=v2 -config.show_banner=false \
		-self-profiling.disable-push=true -usage-stats.enabled=false -symbolizer.enabled=false \
		-storage.backend=filesystem -storage.filesystem.dir=blocks \
		-server.http-listen-address=127.0.0.1 -server.http-listen-port="$http" \
		-server.grpc-listen-address=127.0.0.1 -server.grpc-listen-port="$grpc" \
		-memberlist.bind-addr=127.0.0.1 -memberlist.bind-port="$gossip" \
		-memberlist.advertise-addr=127.0.0.1 -memberlist.advertise-port="$gossip" \
		-metastore.address="127.0.0.1:$grpc" -query-backend.address="127.0.0.1:$grpc" \
		-metastore.raft.bind-address="127.0.0.1:$raft" -metastore.raft.advertise-address="127.0.0.1:$raft" \
		-metastore.raft.server-id="127.0.0.1:$raft" -segment-writer.min-ready-duration=0s \
		-segment-writer.lifecycler.addr=127.0.0.1 -distributor.ring.instance-addr=127.0.0.1 \
		-query-frontend.instance-addr=127.0.0.1 -overrides-exporter.ring.instance-addr=127.0.0.1 "$@") \
		>>"$work/server.log" 2>&1 &
	server=$!
	servers="$servers $server"
	for _ in $(seq 1200); do
		[ "$(/usr/bin/python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1] + "/ready").status)' "$url" 2>/dev/null)" != 200 ] || return 0
		sleep 0.2
	done
	fail "no server: $(tail -n 20 "$work/server.log")"
}

end_server() {
	kill "$server"
	wait "$server"
}

# What stands in front, as a gateway does: it hands on what comes, or does what the file MODE says. Each fifth answer is one
# that it may lose, or break off, which is one that curl does not try again on its own.
cat >"$work/front.py" <<'END'
import http.client, http.server, itertools, sys, time
port, server, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
answers, lost = itertools.count(1), itertools.count()

class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        now = open(mode).read().strip()
        body = self.rfile.read(int(self.headers['content-length']))
        if now == 'slow':
            time.sleep(3)
        status, answer = 503, b''
        try:
            if now != 'busy':
                behind = http.client.HTTPConnection('127.0.0.1', server, timeout=300)
                behind.request('POST', self.path, body, {'content-type': self.headers['content-type']})
                said = behind.getresponse()
                status, answer = said.status, said.read()
        except OSError:
            status = 502
        open(mode + '.answers', 'a').write('%d\n' % status)
        if now == 'lose' and status == 200 and next(answers) % 5 == 0:
            open(mode + '.lost', 'a').write(self.path + '\n')
            if next(lost) % 2:
                self.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbroken')
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header('content-length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(('127.0.0.1', port), Front).serve_forever()
END

# service NAME URL COMMAND...: run it profiled, in the background. On a busy machine more than the last report waits at its end.
service() {
	name=$1 to=$2
	shift 2
	profiled "$work/$name" "$(engines | tail -n 1)" REPORTING_INTERVAL=${interval}s CPU_INTERVAL=2ms WALL_INTERVAL=20ms \
		NATIVE_MEM=64k NATIVE_MEM_ENGINE=builtin PROFILING_GROUP="$name" METADATA=none LOG_FILE="$work/$name.log" \
		TAGS=stage=test EXIT_TIMEOUT=300s PYROSCOPE_URL="$to" "$@" >"$work/$name.said" 2>&1 &
	jobs="$jobs $!"
	started="$started $name"
}

# process NAME: its number, by which its reports are called.
process() {
	for _ in $(seq 600); do
		pid=$(find "$work/$1" -name '*.jfr' 2>/dev/null | sed -n 's/.*_\([0-9]*\)_[^_]*$/\1/p' | head -n 1)
		[ -z "$pid" ] || break
		sleep 0.1
	done
	[ -n "$pid" ] || fail "$1 makes no reports"
	echo "$pid"
}

cat >"$work/service.py" <<'END'
import time
kept = []

def counts(n):
    return sum(i * i % 7 for i in range(n))

def joins(n):
    return ''.join(str(i) for i in range(n))

while True:
    counts(20000)
    kept.append(joins(2000))
    if len(kept) > 200:
        del kept[:100]
    time.sleep(0.01)
END

pushed=$(program pushed) || exit 1
began=$(date +%s)
jobs='' started=''
begin_server
echo pass >"$work/mode"
/usr/bin/python3 "$work/front.py" "$front" "$http" "$work/mode" 2>"$work/front.err" &
servers="$servers $!"
service native "http://127.0.0.1:$front" "$pushed" 1000000
service python "http://127.0.0.1:$front" /usr/bin/python3 "$work/service.py"
if command -v redis-server redis-benchmark redis-cli >/dev/null; then
	service redis "$url" redis-server --bind 127.0.0.1 --port "$redis" --save '' --appendonly no --dir "$work"
	(sleep 2 && exec redis-benchmark -p "$redis" -c 4 -n 1000000000 -r 100000 -t set,get,lpush,lpop -q) >/dev/null 2>&1 &
	load=$!
	servers="$servers $load"
else
	echo 'redis is not on this machine: left out'
fi
native=$(process native) || fail "$native"
python=$(process python) || fail "$python"
servers="$servers $native $python"

part=$((SECONDS_RUN / 6))
[ "$SECONDS_RUN" -lt 300 ] || echo lose >"$work/mode"
sleep $part
echo pass >"$work/mode"
end_server
# At once, with little room: for a request, and for what comes in a second.
begin_server -distributor.ingestion-body-limit-mb=0.002 -distributor.ingestion-rate-limit-mb=0.001 \
	-distributor.ingestion-burst-size-mb=0.02
sleep $part
end_server
begin_server
echo busy >"$work/mode"
sleep $part
echo slow >"$work/mode"
sleep $part
echo pass >"$work/mode"
end_server
sleep $((3 * interval))
begin_server
sleep $((2 * part))
# It takes OTLP, too.
profiled "$work/otlp" "$(engines | tail -n 1)" REPORTING_INTERVAL=${interval}s CPU_INTERVAL=2ms WALL_INTERVAL=20ms \
	NATIVE_MEM=64k NATIVE_MEM_ENGINE=builtin PROFILING_GROUP=otlp METADATA=none LOG_FILE="$work/otlp.log" \
	OTLP_ENDPOINT="$url" "$pushed" $((3 * interval)) || fail "otlp: status $?"
started="$started otlp"
if [ -n "${load:-}" ]; then
	kill "$load"
	wait "$load"
	redis-cli -p "$redis" shutdown nosave
fi
# With what they keep, which they would free at an end of their own.
kill "$native" "$python"
for job in $jobs; do
	wait "$job"
	status=$?
	case $status in 0 | 143) ;; *) fail "a service failed: status $status" ;; esac
done

# asked NAME: by function and for each type, what the server says of the service is what `top` shows of its files. Of what
# is retained each report tells anew: the last one counts.
asked() {
	for metric in cpu wall alloc live; do
		"$agent" top --json -n 0 --total --$metric "$work/$1" >"$work/top.$metric" 2>/dev/null || true
	done
	/usr/bin/python3 - "$1" "$url" "$began" "$work" <<-'END' || fail "$1 is not as the files are"
		import calendar, glob, json, os, re, sys, time, urllib.request
		name, url, began, work = sys.argv[1:]
		began, now = int(began) * 1000 - 10000, int(time.time()) * 1000 + 10000
		asked_at = time.time()
		deadline = asked_at + (1200 if os.path.exists(work + '/mode.lost') else 0)

		def ask(method, **words):
		    request = urllib.request.Request('%s/querier.v1.QuerierService/%s' % (url, method), json.dumps(words).encode(),
		                                     {'Content-Type': 'application/json'})
		    return json.load(urllib.request.urlopen(request, timeout=120))

		def by_function(kinds, start):
		    found = {}
		    for kind in kinds:
		        p = ask('SelectMergeProfile', profileTypeID=kind, labelSelector='{service_name="%s"}' % name,
		                start=start, end=now)
		        functions = {f['id']: p['stringTable'][int(f.get('name', 0))] for f in p.get('function', [])}
		        leaves = {l['id']: functions[l['line'][0]['functionId']] for l in p.get('location', [])}
		        for sample in p.get('sample', []):
		            leaf = leaves[sample['locationId'][0]]
		            found[leaf] = found.get(leaf, 0) + int(sample['value'][0])
		    return {name: value for name, value in found.items() if value}

		ends = sorted(calendar.timegm(time.strptime(re.search(r'_(\d{4}-[-T\d]*Z)', f).group(1), '%Y-%m-%dT%H-%M-%SZ'))
		              for f in glob.glob('%s/%s/*.jfr' % (work, name)))
		types = {} # those that came by OTLP are called otherwise
		for kind in ask('ProfileTypes', start=began, end=now)['profileTypes']:
		    types.setdefault(kind['sampleType'], []).append(kind['ID'])
		for metric, kind in ('cpu', 'cpu'), ('wall', 'wall'), ('alloc', 'alloc_space'), ('live', 'inuse_space'):
		    local = {}
		    for f in json.load(open('%s/top.%s' % (work, metric)))['functions']:
		        local[f['name']] = local.get(f['name'], 0) + f['self']
		    local = {name: value for name, value in local.items() if value}
		    # A report begins when the one before it ends.
		    start = began if metric != 'live' else ends[-2] * 1000 - 500
		    assert local, 'top has no %s' % metric
		    # It counts what it has twice until it puts together the blocks that have it.
		    a, first = sum(local.values()), None
		    while True:
		        found = by_function(types[kind], start)
		        b = sum(found.values())
		        first = first or b
		        if b <= 1.0001 * a + 1 or time.time() > deadline:
		            break
		        time.sleep(10)
		    print('%s %s: %d functions, %.0f, asked: %.0f in %d%s' % (name, metric, len(local), a, b, len(found),
		          '' if first == b else ' (%.0f at first, %d s before)' % (first, time.time() - asked_at)), flush=True)
		    assert abs(a - b) <= 0.001 * max(a, b) + 1, (metric, a, b)
		    for name_of in set(local) | set(found):
		        a, b = local.get(name_of, 0), found.get(name_of, 0)
		        assert abs(a - b) <= 0.01 * max(a, b) + 1, (metric, name_of, a, b)
	END
}
sort "$work/mode.answers" | uniq -c
if [ "$SECONDS_RUN" -ge 300 ]; then
	echo "$(wc -l <"$work/mode.lost") answers were lost"
	for answer in 429 502 503; do
		grep -q "$answer" "$work/mode.answers" || fail "no answer of $answer"
	done
	grep -q status=413 "$work/server.log" || fail 'no answer of 413'
fi
for name in $started; do
	asked "$name"
	! grep -vE 'Connection refused|connect to|work again|Empty reply|bytes (missing|remaining)|answers (429|502|503)|answers 422: \{"code":"unknown".* Unavailable' \
		"$work/$name.log" || fail "$name: more than an outage"
done
end_server
