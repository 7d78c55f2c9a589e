#!/bin/bash
# The requests of scrapers: Prometheus for metrics, checked by Prometheus' own parsers if installed (the client
# library for Python, promtool); Parca and Pyroscope for CPU time of some seconds, memory and goroutines, all at once,
# as gzipped profile.proto, checked by pprof if go is installed.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have curl python3 gzip
live=$(program live) || exit 1
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
held scraped CPU_INTERVAL=1ms NATIVE_MEM=16k LISTEN="127.0.0.1:$port" "$live"
url=http://127.0.0.1:$port
until_true curl -sf "$url/status" || fail "no endpoint: $(cat "$work/scraped.err")"
until_true sh -c "curl -sf $url/metrics | grep -q '^asprof_agent_samples_total [1-9]'" || fail 'no samples'

# ---- Prometheus: the headers of 2.53's scraper ----
scrape() {
	curl -sS -D "$work/headers" -o "$work/metrics" -H "Accept: $1" -H 'Accept-Encoding: gzip' \
		-H 'X-Prometheus-Scrape-Timeout-Seconds: 10' -A Prometheus/2.53.1 "$url/metrics" || fail "no metrics for $1"
	sed -n 's/^[Cc]ontent-[Tt]ype: *\([^\r]*\)\r*$/\1/p' "$work/headers"
}
modern='application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
type=$(scrape "$modern")
case $type in 'application/openmetrics-text; version=1.0.0'*) ;; *) fail "a scraper of Prometheus gets $type" ;; esac
if python3 -c 'import prometheus_client' 2>/dev/null; then
	python3 - "$work/metrics" <<'END' || fail "the parser of OpenMetrics: $(cat "$work/metrics")"
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
found = {f.name: f for f in parse(open(sys.argv[1]).read())}
assert found['asprof_agent_running'].samples[0].value == 1
assert found['asprof_agent_samples'].type == 'counter' and found['asprof_agent_memory_bytes'].unit == 'bytes'
assert {s.labels['kind'] for s in found['asprof_agent_losses'].samples} >= {'ring_full', 'stalls'}
END
	echo 'read by prometheus_client, OpenMetrics'
fi
type=$(scrape 'text/plain;version=0.0.4')
case $type in 'text/plain; version=0.0.4'*) ;; *) fail "an older scraper gets $type" ;; esac
if python3 -c 'import prometheus_client' 2>/dev/null; then
	python3 - "$work/metrics" <<'END' || fail "the parser of the text format: $(cat "$work/metrics")"
import sys
from prometheus_client.parser import text_string_to_metric_families as parse
found = {f.name: f for f in parse(open(sys.argv[1]).read())}
assert found['asprof_agent_samples'].type == 'counter' and found['asprof_agent_samples'].samples[0].value > 0
END
	echo 'read by prometheus_client, text'
fi
if command -v promtool >/dev/null; then
	promtool check metrics <"$work/metrics" >"$work/lint" 2>&1 || fail "promtool: $(cat "$work/lint")"
	echo 'nothing to say for promtool'
fi

# ---- Parca, Pyroscope: the requests of their default jobs, without block and mutex ----
# profiles URL WHAT...: each is there, and pprof can read it.
profiles() {
	at=$1 asking=
	shift
	for each in "$@"; do
		curl -sS -o "$work/${each%\?*}.pb.gz" -w '%{http_code} %{content_type}\n' -A Parca/0.22 -H 'Accept-Encoding: gzip' \
			"$at/debug/pprof/$each" >"$work/${each%\?*}.said" 2>&1 &
		asking="$asking $!"
	done
	# shellcheck disable=SC2086 # numbers
	wait $asking
	for each in "$@"; do
		each=${each%\?*}
		grep -q '^200 application/octet-stream' "$work/$each.said" || fail "$each: $(cat "$work/$each.said") $(head -c 200 "$work/$each.pb.gz")"
		gzip -t "$work/$each.pb.gz" || fail "$each: not gzipped"
		if go tool -n pprof >/dev/null 2>&1; then
			go tool pprof -raw "$work/$each.pb.gz" >"$work/raw" 2>"$work/err" || fail "$each: pprof: $(cat "$work/err")"
			grep -q '^Samples:' "$work/raw" || fail "$each: $(head -n 20 "$work/raw")"
			# Parca crashes on a profile without the period between two samples.
			grep -q '^PeriodType: [a-z]' "$work/raw" && grep -q '^Period: [1-9]' "$work/raw" ||
				fail "$each: no period: $(head -n 20 "$work/raw")"
			case $each in
			profile | goroutine) grep -q main "$work/raw" || fail "$each: $(head -n 20 "$work/raw")" ;;
			esac
		fi
	done
}
profiles "$url" 'profile?seconds=2' allocs heap goroutine
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/debug/pprof/mutex")" = 404 ] || fail 'a profile that is not there'
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	held other ENGINE=async-profiler LIB="$ASPROF_TEST_LIB" CPU_INTERVAL=1ms WALL_INTERVAL=20ms NATIVE_MEM=16k \
		NATIVE_MEM_ENGINE=builtin LISTEN="127.0.0.1:$port" "$live"
	url=http://127.0.0.1:$port
	until_true sh -c "curl -sf $url/metrics | grep -q '^asprof_agent_samples_total [1-9]'" || fail 'no samples by async-profiler'
	# The second profile begins with a later chunk.
	profiles "$url" 'profile?seconds=1'
	profiles "$url" 'profile?seconds=1' 'wall?seconds=1' heap
fi
