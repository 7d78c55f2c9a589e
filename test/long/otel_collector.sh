#!/bin/bash
# A real OpenTelemetry Collector takes every message of three services, and what it passes on has, by function and for each
# type, the totals of the reports' files: also when what stands in front of it loses answers, has no time (503, 429), or is
# slow; when it is ended and begun again with little room, for a message and for what waits (so that it says itself what is too large, and
# 503), and is away for a while; and when what is behind it is away. What was sent twice for a lost answer has the ids of the first.
# OTELCOL is the collector (otelcol; docs/send/fleet.md says which), SECONDS_RUN (60) how long this goes on.
. "$(dirname "$0")/fleet.inc"
OTELCOL=${OTELCOL:-otelcol}
have "$OTELCOL"

read -r receiver before behind <<<"$(free_ports 3)"

# begin_collector MESSAGE_BYTES QUEUE: takes no larger messages, and no more than so many that it has yet to pass on.
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

# It passes on what it has taken, but not what it has tried in vain.
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
# What the collector has tried in vain it tries again within five seconds.
sleep 10
end_collector

sort "$work/before.answers" | uniq -c
lost=$(wc -l <"$work/before.lost")
echo "$lost answers were lost; the agents tell of $(told_twice) that may be there twice"
[ "$SECONDS_RUN" -lt 300 ] || [ "$lost" -gt 0 ] || fail 'no answer was lost'
for answer in 'busy: 503' 'much: 429' 'pass: 429\|pass: 503' 'pass: 502'; do
	grep -q "$answer" "$work/before.answers" || fail "no answer of $answer"
done
# (What async-profiler makes of five seconds may be smaller than 4,000 bytes.)
[ -n "${ASPROF_TEST_LIB:-}" ] || grep -q ': 400' "$work/before.answers" || fail 'no answer of 400'
[ ! -s "$work/passed.refused" ] || fail "the collector passes on: $(head -n 3 "$work/passed.refused")"
! grep -iE 'dropping data|panic' "$work/collector.log" || fail 'the collector loses something'

# What came again has the ids of what it was before: it is left out, and may be no more than the answers that were not heard.
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
