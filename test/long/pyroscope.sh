#!/bin/bash
# A real Pyroscope accepts every report of three services, and of one that sends OTLP. Its totals by function and for
# each type equal those of the reports' files. Meanwhile it restarts, refuses large messages (413) and many (429), and
# is unavailable for a while; and a gateway in front of it answers 503, is slow, or loses responses. It merges
# repeated messages itself, which takes minutes. So responses are lost only if SECONDS_RUN (60), the duration, is 300
# or more. PYROSCOPE is the server (see docs/send/fleet.md).
. "$(dirname "$0")/fleet.inc"
PYROSCOPE=${PYROSCOPE:-pyroscope}
have "$PYROSCOPE"

read -r http grpc gossip raft front <<<"$(free_ports 5)"
url=http://127.0.0.1:$http

# begin_server [SWITCH...]: on loopback only; it sends no statistics, and does not profile itself.
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
	until_up "$work/server.log" is_ready "$url/ready"
}

end_server() {
	kill "$server"
	wait "$server"
}

began=$(date +%s)
begin_server
begin_front mode "$front" "$http"
begin_services PYROSCOPE_URL="http://127.0.0.1:$front" PYROSCOPE_URL="$url"

part=$((SECONDS_RUN / 6))
[ "$SECONDS_RUN" -lt 300 ] || echo lose >"$work/mode"
sleep $part
echo pass >"$work/mode"
end_server
# With low limits: for a request, and for the data of a second.
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
sleep 15
begin_server
sleep $((2 * part))
# It accepts OTLP, too.
sampled "$work/otlp" PROFILING_GROUP=otlp LOG_FILE="$work/otlp.log" OTLP_ENDPOINT="$url" "$pushed" 15 ||
	fail "otlp: status $?"
started="$started otlp"
end_services

# asked NAME: the server's totals of the service, by function and for each type, equal `top` for its files. Each
# report has the complete retained memory: the last one counts.
asked() {
	for metric in cpu wall alloc live; do
		"$agent" top --json -n 0 --total --$metric "$work/$1" >"$work/top.$metric" 2>/dev/null || true
	done
	/usr/bin/python3 - "$1" "$url" "$began" "$work" <<-'END' || fail "$1 is not as the files are"
		import calendar, glob, json, os, re, sys, time, urllib.request
		name, url, began, work = sys.argv[1:]
		began, now = int(began) * 1000 - 10000, int(time.time()) * 1000 + 10000
		asked_at = time.time()
		deadline = asked_at + (1200 if os.path.getsize(work + '/mode.lost') else 0)

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
		types = {} # OTLP has other names
		for kind in ask('ProfileTypes', start=began, end=now)['profileTypes']:
		    types.setdefault(kind['sampleType'], []).append(kind['ID'])
		for metric, kind in ('cpu', 'cpu'), ('wall', 'wall'), ('alloc', 'alloc_space'), ('live', 'inuse_space'):
		    local = {}
		    for f in json.load(open('%s/top.%s' % (work, metric)))['functions']:
		        local[f['name']] = local.get(f['name'], 0) + f['self']
		    local = {name: value for name, value in local.items() if value}
		    # A report begins at the end of the previous one.
		    start = began if metric != 'live' else ends[-2] * 1000 - 500
		    assert local, 'top has no %s' % metric
		    # It counts repeated data twice until it merges the blocks.
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
	silent=$(grep -vc broken "$work/mode.lost")
	echo "$(wc -l <"$work/mode.lost") answers were lost, $silent of them wholly; the agents tell of $(told_twice)"
	[ "$silent" -gt 0 ] && [ "$silent" -le "$(told_twice)" ] || fail 'what may be there twice is not told'
	for answer in 429 502 503; do
		grep -q "$answer" "$work/mode.answers" || fail "no answer of $answer"
	done
	# (A report of five seconds by async-profiler may be smaller than that.)
	[ -n "${ASPROF_TEST_LIB:-}" ] || grep -q status=413 "$work/server.log" || fail 'no answer of 413'
fi
for name in $started; do
	asked "$name"
	! grep -vE 'Connection refused|connect to|work again|Empty reply|messages twice|answers (429|502|503)|answers 422: \{"code":"unknown".* Unavailable' \
		"$work/$name.log" || fail "$name: more than an outage"
done
end_server
