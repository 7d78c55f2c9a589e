#!/bin/bash
# A real OpenTelemetry Collector accepts every message of three services. Its output has the totals of the reports'
# files, by function and for each type. Meanwhile a gateway in front of it loses responses, answers 503 and 429, or is
# slow. The collector restarts with small limits for a message and its queue (so that it answers 400 and 503), and is
# unavailable for a while; and so is its own destination. A message that was sent twice after a lost response has the
# same ids. OTELCOL is the collector (otelcol; see docs/send/fleet.md), SECONDS_RUN (60) the duration.
. "$(dirname "$0")/fleet.inc"
OTELCOL=${OTELCOL:-otelcol}
have "$OTELCOL"

read -r receiver before behind <<<"$(free_ports 3)"

# begin_collector MESSAGE_BYTES QUEUE: it accepts no larger messages, and queues no more of them.
begin_collector() {
	cat >"$work/config.yaml" <<-END
		receivers:
		  otlp:
		    protocols:
		      http: { endpoint: "127.0.0.1:$receiver", max_request_body_size: $1 }
		exporters:
		  otlphttp:
		    endpoint: "http://127.0.0.1:$behind"
		    compression: gzip
		    sending_queue: { queue_size: $2, num_consumers: 1 }
		    retry_on_failure: { initial_interval: 1s, max_interval: 5s }
		service:
		  telemetry: { metrics: { level: none } }
		  pipelines:
		    profiles: { receivers: [otlp], exporters: [otlphttp] }
	END
	"$OTELCOL" --config "$work/config.yaml" --feature-gates=service.profilesSupport >>"$work/collector.log" 2>&1 &
	collector=$!
	servers="$servers $collector"
	until_up "$work/collector.log" eval ": </dev/tcp/127.0.0.1/$receiver"
}

# It forwards accepted messages, but retries failed ones later.
end_collector() {
	kill "$collector"
	wait "$collector"
}

serve passed
begin_front behind "$behind" "$port"
begin_collector 20000000 1000
begin_front before "$before" "$receiver"
begin_services OTLP_ENDPOINT="http://127.0.0.1:$before" OTLP_ENDPOINT="http://127.0.0.1:$before"

part=$((SECONDS_RUN / 8))
echo lose >"$work/before"
sleep $part
echo busy >"$work/before"
sleep $part
echo much >"$work/before"
sleep $part
echo slow >"$work/before"
sleep $part
echo pass >"$work/before"
end_collector
echo slow >"$work/behind"
begin_collector 4000 1
sleep $part
echo pass >"$work/behind"
end_collector
sleep 15
begin_collector 20000000 1000
echo busy >"$work/behind"
sleep $part
echo pass >"$work/behind"
sleep $((2 * part))
end_services
# The collector retries failed messages within five seconds.
sleep 10
end_collector

sort "$work/before.answers" | uniq -c
lost=$(wc -l <"$work/before.lost")
echo "$lost answers were lost; the agents tell of $(told_twice) that may be there twice"
[ "$SECONDS_RUN" -lt 300 ] || [ "$lost" -gt 0 ] || fail 'no answer was lost'
for answer in 'busy: 503' 'much: 429' 'pass: 429\|pass: 503' 'pass: 502'; do
	grep -q "$answer" "$work/before.answers" || fail "no answer of $answer"
done
# (A report of five seconds by async-profiler may be smaller than 4,000 bytes.)
[ -n "${ASPROF_TEST_LIB:-}" ] || grep -q ': 400' "$work/before.answers" || fail 'no answer of 400'
[ ! -s "$work/passed.refused" ] || fail "the collector passes on: $(head -n 3 "$work/passed.refused")"
! grep -iE 'dropping data|panic' "$work/collector.log" || fail 'the collector loses something'

# Repeated messages have the ids of the first ones: they are omitted, and there may be no more than lost responses.
/usr/bin/python3 - "$work" "$lost" "$(told_twice)" <<'END' || fail 'something came twice'
import json, sys
work, lost, told = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
met, again = {}, 0
for line in open(work + '/passed'):
    m = json.loads(line)
    key = (m['service'], *m['ids'])
    if key in met:
        assert met[key]['totals'] == m['totals'], (met[key], m)
        again += 1
        continue
    met[key] = m
    with open(work + '/passed.' + m['service'], 'a') as file:
        file.write(line)
print('%d messages, and %d again' % (len(met), again))
assert again <= lost and again <= told, (again, lost, told)
END
for name in $started; do
	compare "$work/passed.$name" "$work/$name" otlp
	! grep -vE 'Connection refused|connect to|work again|Empty reply|messages twice|answers (429|502|503)' \
		"$work/$name.log" || fail "$name: more than an outage"
done
