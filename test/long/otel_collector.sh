#!/bin/bash
# A real OpenTelemetry Collector takes every message, and what it passes on has, by function and for each type,
# the totals of the reports' files; also when it is ended and started again in between. OTELCOL is the collector (otelcol;
# docs/fleet.md says which), SECONDS_RUN (60) how long three programs run.
. "$(dirname "$0")/../system/agent.inc"
. test/system/push.inc
OTELCOL=${OTELCOL:-otelcol}
have "$OTELCOL"
SECONDS_RUN=${SECONDS_RUN:-60}

port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

serve passed
receiver=$(port)
cat >"$work/config.yaml" <<END
receivers:
  otlp:
    protocols:
      http: { endpoint: "127.0.0.1:$receiver" }
exporters:
  otlphttp: { endpoint: "$url", compression: gzip }
service:
  telemetry: { metrics: { level: none } }
  pipelines:
    profiles: { receivers: [otlp], exporters: [otlphttp] }
END
collector() {
	"$OTELCOL" --config "$work/config.yaml" --feature-gates=service.profilesSupport >>"$work/collector.log" 2>&1 &
	pid=$!
	servers="$servers $pid"
	for _ in $(seq 600); do
		(: </dev/tcp/127.0.0.1/"$receiver") 2>/dev/null && return
		sleep 0.1
	done
	fail "no collector: $(tail -n 5 "$work/collector.log")"
}

pushed=$(program pushed) || exit 1
collector
jobs=
for service in one two three; do
	profiled "$work/$service" "$(engines | tail -n 1)" REPORTING_INTERVAL=5s CPU_INTERVAL=2ms WALL_INTERVAL=20ms \
		NATIVE_MEM=64k NATIVE_MEM_ENGINE=builtin PROFILING_GROUP=$service METADATA=none \
		LOG_FILE="$work/$service.log" OTLP_ENDPOINT="http://127.0.0.1:$receiver" "$pushed" "$SECONDS_RUN" &
	jobs="$jobs $!"
done
sleep $((SECONDS_RUN / 2))
kill "$pid" && wait "$pid"
sleep 3
collector
for job in $jobs; do
	wait "$job" || fail 'a program failed'
done
kill "$pid" && wait "$pid" # what it has yet to pass on
[ ! -s "$work/passed.refused" ] || fail "the collector passes on: $(head -n 3 "$work/passed.refused")"
for service in one two three; do
	grep "\"service\": \"$service\"" "$work/passed" >"$work/passed.$service"
	compare "$work/passed.$service" "$work/$service" otlp
	! grep -v 'Connection refused\|connect to\|work again' "$work/$service.log" || fail "$service: more than an outage"
done
