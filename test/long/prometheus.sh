#!/bin/bash
# A real Prometheus scrapes two profiled processes every second, as OpenMetrics and with a token, and as text. No
# scrape fails, the server's log has no complaint, and its data agree with the processes. PROMETHEUS is the server,
# SECONDS_RUN (60) the duration.
. "$(dirname "$0")/fleet.inc"
. test/system/live.inc
PROMETHEUS=${PROMETHEUS:-prometheus}
have "$PROMETHEUS" curl

live=$(program live) || exit 1
read -r server open text <<<"$(free_ports 3)"
held open CPU_INTERVAL=1ms NATIVE_MEM=16k LISTEN="127.0.0.1:$open" LISTEN_TOKEN=a-token "$live"
held text "ENGINE=$(engines | tail -n 1)" "LIB=${ASPROF_TEST_LIB:-libasyncProfiler.so}" CPU_INTERVAL=1ms LISTEN="127.0.0.1:$text" "$live"
until_true curl -sf -H 'Authorization: Bearer a-token' "http://127.0.0.1:$open/status" ||
	fail "no endpoint: $(cat "$work/open.err")"
until_true curl -sf "http://127.0.0.1:$text/status" || fail "no endpoint: $(cat "$work/text.err")"

cat >"$work/prometheus.yml" <<END
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs:
  - job_name: open
    scrape_protocols: [OpenMetricsText1.0.0]
    static_configs: [{ targets: ['127.0.0.1:$open'] }]
    authorization: { credentials: a-token }
  - job_name: text
    scrape_protocols: [PrometheusText0.0.4]
    static_configs: [{ targets: ['127.0.0.1:$text'] }]
END
"$PROMETHEUS" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/kept" --log.level=debug \
	--web.listen-address="127.0.0.1:$server" >"$work/server.log" 2>&1 &
running="$running $!"
until_true curl -sf "http://127.0.0.1:$server/-/ready" || fail "no server: $(tail -n 5 "$work/server.log")"
sleep "$SECONDS_RUN"

/usr/bin/python3 - "$server" "$open" "$text" "$SECONDS_RUN" <<'END' || fail "see above: $(grep -v level=DEBUG "$work/server.log" | tail -n 5)"
import json, sys, urllib.parse, urllib.request
server, open_port, text_port, seconds = sys.argv[1:]

def ask(path, **words):
    url = 'http://127.0.0.1:%s/api/v1/%s?%s' % (server, path, urllib.parse.urlencode(words))
    return json.load(urllib.request.urlopen(url, timeout=60))['data']

def query(words, job):
    found = ask('query', query=words.replace('JOB', '{job="%s"}[%ss]' % (job, seconds)))['result']
    assert len(found) == 1, (words, job, found)
    return float(found[0]['value'][1])

targets = ask('targets')['activeTargets']
assert len(targets) == 2 and all(t['health'] == 'up' and not t['lastError'] for t in targets), targets
for job, port, family in ('open', open_port, 'asprof_agent_samples'), ('text', text_port, 'asprof_agent_samples_total'):
    count, samples = query('count_over_time(upJOB)', job), query('max_over_time(scrape_samples_scrapedJOB)', job)
    print('%s: %.0f scrapes, up %.0f at the least, %.0f to %.0f samples, %.1f ms at the most, %.0f taken meanwhile' % (
        job, count, query('min_over_time(upJOB)', job), query('min_over_time(scrape_samples_scrapedJOB)', job), samples,
        1000 * query('max_over_time(scrape_duration_secondsJOB)', job),
        query('increase(asprof_agent_samples_totalJOB)', job)))
    assert count >= float(seconds) / 2 and query('min_over_time(upJOB)', job) == 1
    assert samples == query('max_over_time(scrape_samples_post_metric_relabelingJOB)', job) > 10
    assert query('increase(asprof_agent_samples_totalJOB)', job) > 0
    assert query('min_over_time(asprof_agent_runningJOB)', job) == 1
    # The name in the format shows which one it was.
    known = {m['metric']: m['type'] for m in ask('targets/metadata', match_target='{job="%s"}' % job)}
    assert known[family] == 'counter' and 'unknown' not in known.values(), known
END
! grep -iE 'level=(warn|error)|scrape failed|append failed' "$work/server.log" || fail "the server complains"
[ ! -s "$work/open.err" ] && [ ! -s "$work/text.err" ] || fail "an agent complains: $(cat "$work/open.err" "$work/text.err")"
