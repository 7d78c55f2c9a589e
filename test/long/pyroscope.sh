#!/bin/bash
# A real Pyroscope takes every report of three services, and what it answers has, by function and for each type, the totals
# of the reports' files; also when it is ended and begun again in between, and when it is away for a while. PYROSCOPE is
# the server (docs/fleet.md says which), SECONDS_RUN (60) how long the services run.
. "$(dirname "$0")/../system/agent.inc"
. test/system/push.inc
PYROSCOPE=${PYROSCOPE:-pyroscope}
have "$PYROSCOPE"
SECONDS_RUN=${SECONDS_RUN:-60}
interval=5

ports=$(/usr/bin/python3 -c 'import socket
all = [socket.socket() for i in range(5)]
for s in all:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in all])')
read -r http grpc gossip raft redis <<<"$ports"
url=http://127.0.0.1:$http

# On loopback alone; it tells nobody of itself, and does not profile itself.
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
		-query-frontend.instance-addr=127.0.0.1 -overrides-exporter.ring.instance-addr=127.0.0.1) \
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

# service NAME COMMAND...: run it profiled, in the background.
service() {
	name=$1
	shift
	profiled "$work/$name" "$(engines | tail -n 1)" REPORTING_INTERVAL=${interval}s CPU_INTERVAL=2ms WALL_INTERVAL=20ms \
		NATIVE_MEM=64k NATIVE_MEM_ENGINE=builtin PROFILING_GROUP="$name" METADATA=none LOG_FILE="$work/$name.log" \
		TAGS=stage=test PYROSCOPE_URL="$url" "$@" >"$work/$name.said" 2>&1 &
	jobs="$jobs $!"
	started="$started $name"
}

cat >"$work/service.py" <<'END'
import os, sys, time
end, kept = time.time() + float(sys.argv[1]), []

def counts(n):
    return sum(i * i % 7 for i in range(n))

def joins(n):
    return ''.join(str(i) for i in range(n))

while time.time() < end:
    counts(20000)
    kept.append(joins(2000))
    if len(kept) > 200:
        del kept[:100]
    time.sleep(0.01)
os._exit(0)  # with what is kept, which is freed otherwise
END

pushed=$(program pushed) || exit 1
began=$(date +%s)
jobs='' started=''
begin_server
service native "$pushed" "$SECONDS_RUN"
service python /usr/bin/python3 "$work/service.py" "$SECONDS_RUN"
if command -v redis-server redis-benchmark redis-cli >/dev/null; then
	service redis redis-server --bind 127.0.0.1 --port "$redis" --save '' --appendonly no --dir "$work"
	(sleep 2 && exec redis-benchmark -p "$redis" -c 4 -n 100000000 -r 100000 -t set,get,lpush,lpop -q) >/dev/null 2>&1 &
	load=$!
	servers="$servers $load"
else
	echo 'redis is not on this machine: left out'
fi
sleep $((SECONDS_RUN / 3))
end_server
begin_server # at once
sleep $((SECONDS_RUN / 3))
end_server
sleep $((3 * interval))
begin_server
sleep $((SECONDS_RUN / 3))
if [ -n "${load:-}" ]; then
	kill "$load"
	wait "$load"
	redis-cli -p "$redis" shutdown nosave
fi
for job in $jobs; do
	wait "$job" || fail "a service failed: status $?"
done

# asked NAME: by function and for each type, what the server says of the service is what `top` shows of its files. Of what
# is retained each report tells anew: the last one counts.
asked() {
	for metric in cpu wall alloc live; do
		"$agent" top --json -n 0 --total --$metric "$work/$1" >"$work/top.$metric" 2>/dev/null || true
	done
	/usr/bin/python3 - "$1" "$url" "$began" "$work" "$interval" <<-'END' || fail "$1 is not as the files are"
		import calendar, glob, json, os, re, sys, time, urllib.request
		name, url, began, work, interval = sys.argv[1:]
		began, now = int(began) * 1000 - 10000, int(time.time()) * 1000 + 10000

		def ask(method, **words):
		    request = urllib.request.Request('%s/querier.v1.QuerierService/%s' % (url, method), json.dumps(words).encode(),
		                                     {'Content-Type': 'application/json'})
		    return json.load(urllib.request.urlopen(request, timeout=120))

		ends = sorted(calendar.timegm(time.strptime(re.search(r'_(\d{4}-[-T\d]*Z)', f).group(1), '%Y-%m-%dT%H-%M-%SZ'))
		              for f in glob.glob('%s/%s/*.jfr' % (work, name)))
		types = {}
		for kind in ask('ProfileTypes', start=began, end=now)['profileTypes']:
		    types[kind['sampleType']] = kind['ID']
		for metric, kind in ('cpu', 'cpu'), ('wall', 'wall'), ('alloc', 'alloc_space'), ('live', 'inuse_space'):
		    local = {}
		    for f in json.load(open('%s/top.%s' % (work, metric)))['functions']:
		        local[f['name']] = local.get(f['name'], 0) + f['self']
		    local = {name: value for name, value in local.items() if value}
		    # A report begins when the one before it ends.
		    start = began if metric != 'live' else ends[-2] * 1000 - 500
		    p = ask('SelectMergeProfile', profileTypeID=types[kind], labelSelector='{service_name="%s"}' % name,
		            start=start, end=now)
		    functions = {f['id']: p['stringTable'][int(f.get('name', 0))] for f in p.get('function', [])}
		    leaves = {l['id']: functions[l['line'][0]['functionId']] for l in p.get('location', [])}
		    found = {}
		    for sample in p.get('sample', []):
		        leaf = leaves[sample['locationId'][0]]
		        found[leaf] = found.get(leaf, 0) + int(sample['value'][0])
		    found = {name: value for name, value in found.items() if value}
		    assert local, 'top has no %s' % metric
		    a, b = sum(local.values()), sum(found.values())
		    print('%s %s: %d functions, %.0f, asked: %.0f in %d' % (name, metric, len(local), a, b, len(found)))
		    assert abs(a - b) <= 0.001 * max(a, b) + 1, (metric, a, b)
		    for name_of in set(local) | set(found):
		        a, b = local.get(name_of, 0), found.get(name_of, 0)
		        assert abs(a - b) <= 0.01 * max(a, b) + 1, (metric, name_of, a, b)
	END
}
for name in $started; do
	asked "$name"
	! grep -v 'Connection refused\|connect to\|work again\|answers 422: {"code":"unknown".* Unavailable' "$work/$name.log" || fail "$name: more than an outage"
done
end_server
