#!/bin/bash
# The error of CPU time by span, compared with the spans' own measurement: 100 spans of 100 to 200 ms, two at a time,
# sampled every millisecond. And the cost of a sample with a context. SPANS and MS: their number, and the shortest.
. "$(dirname "$0")/../system/agent.inc"
have "${CXX:-c++}" /usr/bin/python3
SPANS=${SPANS:-100} MS=${MS:-100}

"${CC:-cc}" -c -O2 -o "$work/context.o" test/programs/otel_context.c &&
	"${CXX:-c++}" -std=c++17 -I. -O2 -g -pthread -rdynamic -o "$work/spans" test/programs/spans.cc "$work/context.o" ||
	exit 1
profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off "$work/spans" cpu "$SPANS" "$MS" >"$work/told" || exit 1
"$agent" top --json -n 0 --cpu --by span_id "$work/out" >"$work/by" || exit 1
/usr/bin/python3 - "$work/by" "$work/told" <<'END'
import json, sys
got = {c['name']: c['samples'] for c in json.load(open(sys.argv[1]))['columns']}
off, total, sampled = [], 0, 0
for line in open(sys.argv[2]):
    _, span, _, _, took = line.split()
    off.append(abs(got.get(span, 0) - float(took)) / float(took))
    total, sampled = total + float(took), sampled + got.get(span, 0)
off.sort()
print('%d spans, %.0f ms of CPU time, %d ms sampled: off by %.1f%% in the middle, %.1f%% for one in ten, %.1f%% at most;'
      ' within 10%%: %d' % (len(off), total, sampled, 100 * off[len(off) // 2], 100 * off[len(off) * 9 // 10],
                            100 * off[-1], sum(o <= 0.1 for o in off)))
END
