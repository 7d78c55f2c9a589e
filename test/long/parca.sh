#!/bin/bash
# A real Parca scrapes the live endpoint of a profiled program, with the configuration of docs/send/fleet.md. Its
# totals by function equal the program's own reports: CPU time and wall-clock time of the requested seconds, and
# memory at the time of the request. PARCA is the server (see docs/send/fleet.md), SECONDS_RUN (60) the duration.
. "$(dirname "$0")/fleet.inc"
PARCA=${PARCA:-parca}
have "$PARCA"

read -r http live <<<"$(free_ports 2)"

# The guide's configuration, with another address and interval. It contacts no other server.
mkdir "$work/server"
sed -n '/^object_storage:/,/^```$/p' docs/send/fleet.md | sed '$d' >"$work/written.yaml"
sed "s/127\.0\.0\.1:6060/127.0.0.1:$live/; s/scrape_interval: .*/scrape_interval: 5s/" "$work/written.yaml" \
	>"$work/server/parca.yaml"
grep -q "\"127.0.0.1:$live\"" "$work/server/parca.yaml" && grep -q 'interval: 5s' "$work/server/parca.yaml" ||
	fail "docs/send/fleet.md has another configuration: $(cat "$work/server/parca.yaml")"
(cd "$work/server" && exec "$PARCA" --http-address="127.0.0.1:$http" --debuginfod-upstream-servers=127.0.0.1:1 \
	--profile-share-server=127.0.0.1:1 --debuginfo-cache-dir="$work/server") >"$work/server.log" 2>&1 &
servers="$servers $!"

pushed=$(program pushed) || exit 1
began=$(date +%s)
sampled "$work/out" NATIVE_MEM=16k LISTEN="127.0.0.1:$live" LOG_FILE="$work/log" "$pushed" "$SECONDS_RUN" || fail "status $?"

for metric in cpu wall alloc live; do
	"$agent" top --json -n 0 --total --$metric "$work/out" >"$work/top.$metric" || fail "top --$metric: status $?"
done
/usr/bin/python3 - "http://127.0.0.1:$http" "$began" "$work" <<-'END' || fail "Parca says: $(tail -n 5 "$work/server.log")"
	import json, sys, time, urllib.parse, urllib.request
	url, began, work = sys.argv[1:]

	def moment(seconds):
	    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(seconds))

	begin, end = moment(int(began) - 10), moment(time.time() + 10)

	def ask(path, **words):
	    query = urllib.parse.urlencode({name.replace('__', '.'): word for name, word in words.items()})
	    return json.load(urllib.request.urlopen('%s/api/profiles/%s?%s' % (url, path, query), timeout=60))

	def by_function(answer):
	    found = {}
	    for node in answer['top']['list']:
	        name = node['meta']['function']['name']
	        found[name] = found.get(name, 0) + int(node.get('flat', 0))
	    return {name: value for name, value in found.items() if value}

	types = {}
	for kind in ask('types', start=begin, end=end)['types']:
	    parts = [kind[word] for word in ('name', 'sampleType', 'sampleUnit', 'periodType', 'periodUnit')]
	    types[kind['name'], kind['sampleType']] = ':'.join(parts) + (':delta' if kind.get('delta') else '')
	print(*sorted(types.values()), sep='\n')
	for metric, kind in (('cpu', ('process_cpu', 'cpu')), ('wall', ('wall', 'wall')),
	                     ('alloc', ('memory', 'alloc_space')), ('live', ('memory', 'inuse_space'))):
	    top, local = json.load(open('%s/top.%s' % (work, metric))), {}
	    for f in top['functions']:
	        local[f['name']] = local.get(f['name'], 0) + f['self']
	    query = '%s{job="service"}' % types[kind]
	    samples = ask('query_range', query=query, start=begin, end=end, step='1s')['series'][0]['samples']
	    values = [int(s['value']) for s in samples]
	    if metric in ('alloc', 'live'):
	        assert values == sorted(values), values
	        found = by_function(ask('query', mode='MODE_SINGLE_UNSPECIFIED', single__query=query,
	                                single__time=samples[-1]['timestamp'], report_type='REPORT_TYPE_TOP'))
	    else:
	        found = by_function(ask('query', mode='MODE_MERGE', merge__query=query, merge__start=begin, merge__end=end,
	                                report_type='REPORT_TYPE_TOP'))
	    a, b = sum(local.values()), sum(found.values())
	    print('%s: %d profiles, %.0f of %.0f, %d and %d functions' % (metric, len(samples), b, a, len(found), len(local)))
	    # It does not have the last seconds, nor the time between two profiles, when a busy machine's load may
	    # differ.
	    assert len(samples) >= 3 and 0.2 * a < b <= 1.001 * a, (metric, a, b)
	    for name in set(local) | set(found):
	        mine, its = local.get(name, 0) / a, found.get(name, 0) / b
	        assert abs(mine - its) <= 0.2, (metric, name, mine, its)
END
! grep -v 'live endpoint' "$work/log" || fail 'the agent has something to say'
