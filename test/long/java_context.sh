#!/bin/bash
# An unchanged Java program with the published agent that has the OpenTelemetry thread context record (OTEP 4947).
# Samples of CPU time have the trace and the span of OpenTelemetry's interface, and their sums by span equal the
# spans' CPU time. The agent is Datadog's, which records as little as possible itself. It comes from Maven with that
# interface, by mvn, 36 MB; skipped if they cannot be downloaded.
. "$(dirname "$0")/../system/agent.inc"
have java javac mvn /usr/bin/python3
DD_AGENT=${DD_AGENT:-1.68.1}
OTEL=${OTEL:-1.40.0}

for library in "com.datadoghq:dd-java-agent:$DD_AGENT" "io.opentelemetry:opentelemetry-api:$OTEL" \
	"io.opentelemetry:opentelemetry-context:$OTEL"; do
	mvn -q -B dependency:copy -Dartifact="$library" -DoutputDirectory="$work/jars" -Dmdep.useBaseVersion=true \
		>"$work/mvn" 2>&1 || skip "mvn does not bring $library: $(tail -n 1 "$work/mvn")"
done
api=$work/jars/opentelemetry-api-$OTEL.jar:$work/jars/opentelemetry-context-$OTEL.jar

cat >"$work/Spans.java" <<'J'
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Spans {
	static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
	static volatile double sum;

	static long burn(long ms) {
		long begin = clock.getCurrentThreadCpuTime();

		while (clock.getCurrentThreadCpuTime() - begin < ms * 1000000)
			for (int i = 0; i < 1000; i++)
				sum = sum * 1.000001 + i;
		return clock.getCurrentThreadCpuTime() - begin;
	}

	public static void main(String[] arguments) {
		Tracer tracer = GlobalOpenTelemetry.getTracer("test");

		burn(2000); // outside of any, until the agent has looked
		for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
			Span span = tracer.spanBuilder("work").setParent(Context.root()).startSpan();
			long took;

			try (Scope scope = span.makeCurrent()) {
				took = burn(300);
			} finally {
				span.end();
			}
			System.out.println(span.getSpanContext().getTraceId() + " " + span.getSpanContext().getSpanId() + " "
					+ took / 1e6);
		}
	}
}
J
javac -cp "$api" -d "$work" "$work/Spans.java" || fail "javac"

# It must send nothing: no server listens at that port.
profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off PROCESS=java java \
	-javaagent:"$work/jars/dd-java-agent-$DD_AGENT.jar" -Ddd.trace.otel.enabled=true -Ddd.profiling.enabled=true \
	-Ddd.profiling.ddprof.enabled=true -Ddd.profiling.start-delay=0 -Ddd.profiling.start-force-first=true \
	-Ddd.trace.agent.url=http://127.0.0.1:1 -Ddd.instrumentation.telemetry.enabled=false \
	-Ddd.remote_config.enabled=false -Ddd.trace.startup.logs=false -cp "$work:$api" Spans 20 >"$work/told" 2>"$work/err" ||
	fail "status $?: $(tail "$work/err")"
[ "$(wc -l <"$work/told")" -eq 20 ] || fail "$(cat "$work/told" "$work/err")"

for key in trace_id span_id; do
	"$agent" top --json -n 0 --cpu --by $key "$work/out" >"$work/by" || fail "no top --by $key"
	/usr/bin/python3 - "$work/by" "$work/told" $key <<-'P' || fail "not by $key as it was"
		import json, sys
		got = {c['name']: c['samples'] for c in json.load(open(sys.argv[1]))['columns']}
		told = {}
		for line in open(sys.argv[2]):
		    trace, span, took = line.split()
		    told[trace if sys.argv[3] == 'trace_id' else span] = float(took)
		off = sorted(abs(got.get(name, 0) - took) / took for name, took in told.items())
		print('%d spans, %.0f ms, %d sampled: off by %.1f%% in the middle, %.1f%% at most' % (len(told), sum(told.values()),
		      sum(got.get(name, 0) for name in told), 100 * off[len(off) // 2], 100 * off[-1]))
		# (On a busy machine a span may have few ticks.)
		assert off[len(off) // 2] <= 0.1 and off[-1] <= 0.5, (told, got)
	P
done
trace=$(sed -n '1s/ .*//p' "$work/told")
"$agent" collapsed --cpu --trace "$trace" "$work/out" >"$work/one" || fail "--trace finds nothing"
within 50 300 "$(samples . <"$work/one")" 'samples of one trace'
