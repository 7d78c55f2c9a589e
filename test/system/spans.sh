#!/bin/bash
# Samples have the context of their threads: the trace, the span and the attributes that the program publishes as
# OpenTelemetry's SDKs do, wherever the variable is, and the labels of the C interface. The command selects and splits
# by them, and pprof, Pyroscope and OTLP have them. CPU time by span equals the spans' own CPU time.
. "$(dirname "$0")/agent.inc"
. test/system/push.inc
have "${CXX:-c++}"

"${CXX:-c++}" -std=c++17 -I. -O1 -pthread -c -o "$work/spans.o" test/programs/spans.cc || exit 1

# build NAME [FLAG...]: the program.
build() {
	name=$1
	shift
	"${CXX:-c++}" -pthread -o "$work/$name" "$work/spans.o" "$@" || exit 1
}

# library NAME [FLAG...]: the publishing part, as a library.
library() {
	name=$1
	shift
	"${CC:-cc}" -shared -fPIC -O2 -o "$work/$name.so" "$@" test/programs/otel_context.c || exit 1
}

# spans DIR PROGRAM WORD...: run it; its output is in $work/told.
spans() {
	place=$work/of.$1
	shift
	profiled "$place" builtin CPU_INTERVAL=1ms WALL_INTERVAL=5ms NATIVE_MEM=0 "$@" >"$work/told" ||
		fail "$*: status $?"
}

# by DIR METRIC KEY WEIGHT: according to `top --by KEY`, most spans have samples, and almost no sample is without a
# span. Their sum equals the sum that the spans report, where a sample has WEIGHT. (bench/spans.sh measures the error
# of each span: on a busy machine, a signal may come after the end of its span.)
by() {
	"$agent" top --json -n 0 "--$2" --by "$3" "$work/of.$1" >"$work/by" || fail "$1: no top --by $3"
	/usr/bin/python3 - "$work/by" "$work/told" "$3" "$4" <<-'END' || fail "$1: not by $3 as it was"
		import json, sys
		got = {c['name']: c['samples'] for c in json.load(open(sys.argv[1]))['columns']}
		key, weight, told = sys.argv[3], float(sys.argv[4]), {}
		for line in open(sys.argv[2]):
		    trace, span, route, number, took = line.split()
		    name = {'trace_id': trace, 'span_id': span, 'http.route': route, 'route': route, 'span': number}[key]
		    told[name] = told.get(name, 0) + float(took)
		have, took = sum(got.get(name, 0) for name in told) * weight, sum(told.values())
		print('%s: %d, %.0f of %.0f' % (key, len(told), have, took))
		assert set(got) <= set(told) | {'all', '(unknown)'}, (told, got)
		assert len(set(told) & set(got)) >= 0.6 * len(told), (told, got)
		assert got.get("(unknown)", 0) <= 0.3 * got["all"] and 0.8 * took <= have <= 1.2 * took, (told, got)
	END
}

"${CC:-cc}" -c -O2 -o "$work/context.o" test/programs/otel_context.c || exit 1
build own -rdynamic "$work/context.o"
library general
library early -ftls-model=initial-exec
build linked -Wl,--no-as-needed "$work/general.so" "-Wl,-rpath,$work"
build bare
library described -mtls-dialect=gnu2 2>/dev/null || cp "$work/general.so" "$work/described.so"

# way NAME PROGRAM: the variable is in a different place in each.
way() {
	echo "$1:"
	spans "$1" "$work/$2" cpu "${3:-5}" 40
	by "$1" cpu span_id 1
	by "$1" cpu http.route 1
}
way own own 11
way linked linked
for library in general early described; do
	SPANS_LIBRARY=$work/$library.so way $library bare
done

# One trace, by its id or as in a header. A trace without samples has a message.
first=$(sed -n 's/ .*//p;q' "$work/told")
one=$("$agent" collapsed --cpu --trace "$first" "$work/of.own" | samples .)
header=$("$agent" collapsed --cpu --trace "00-${first^^}-0000000000000001-01" "$work/of.own" | samples .)
all=$("$agent" collapsed --cpu "$work/of.own" | samples .)
[ "$one" -gt 0 ] && [ "$one" = "$header" ] && [ "$one" -le "$all" ] || fail "--trace: $one, $header of $all"
post=$("$agent" collapsed --cpu --label http.method=POST "$work/of.own" 2>"$work/err" | samples .)
[ "${post:-0}" = 0 ] && grep -q 'no recording matches --label, and no sample; they are of: ' "$work/err" || fail "--label: $post: $(cat "$work/err")"
part=$("$agent" collapsed --cpu --label http.route=/pay --label "host=$(uname -n)" "$work/of.own" | samples .)
[ "$part" -gt 0 ] && [ "$part" -lt "$all" ] || fail "--label: $part of $all"
for words in 'top --trace 12' "top --retained --live --trace $first" "summary --trace $first"; do
	# shellcheck disable=SC2086
	"$agent" $words "$work/of.own" >"$work/out" 2>&1
	[ $? = 2 ] || fail "$words: $(cat "$work/out")"
done
! command -v jfr >/dev/null || jfr print --events jdk.ExecutionSample "$work"/of.own/*.jfr | grep -q "trace_id=$first" ||
	fail "jfr does not show the trace"

# A sleeping thread counts where it sleeps, and each allocation for its caller.
spans sleeping "$work/own" sleep 5 300
echo sleeping:
"$agent" top --json --wall --by span_id "$work/of.sleeping" >"$work/by"
/usr/bin/python3 - "$work/by" "$work/told" <<-'END' || fail "sleepers are not of their spans"
	import json, sys
	got = {c['name']: c['samples'] for c in json.load(open(sys.argv[1]))['columns']}
	for line in open(sys.argv[2]):
	    assert got.get(line.split()[1], 0) >= 2, (line, got)
END
spans allocating "$work/own" alloc 10 60
"$agent" top --json --alloc --by span_id "$work/of.allocating" >"$work/by"
/usr/bin/python3 - "$work/by" "$work/told" <<-'END' || fail "allocations are not of their spans"
	import json, sys
	got = {c['name']: c['weight'] for c in json.load(open(sys.argv[1]))['columns']}
	seen = sum(1 for line in open(sys.argv[2]) if 1024 * int(line.split()[4]) <= got.get(line.split()[1], 0))
	assert seen == 10, (seen, got)
END
"$agent" leaks --label http.route=/pay "$work/of.allocating" | grep -q work || fail "leaks --label"

# Labels; a forked child has those of the thread that forked.
spans labelled "$work/own" label 5 40
by labelled cpu span 1
by labelled cpu route 1
"$agent" top --cpu --by gone "$work/of.labelled" | grep -q soon && fail "a label that was taken away"
spans forked "$work/own" forked 1 100
"$agent" top --json --cpu --by role "$work/of.forked" >"$work/by"
/usr/bin/python3 - "$work/by" <<-'END' || fail "a forked child is not labelled as it should be"
	import json, sys
	got = {c['name']: c['samples'] for c in json.load(open(sys.argv[1]))['columns']}
	assert 20 <= got["parent's"] <= 180 and 20 <= got['(unknown)'] <= 180, got
END

# Receivers of reports get them as well.
serve taken
spans pushed NATIVE_MEM=16k "PYROSCOPE_URL=$url" "OTLP_ENDPOINT=$url" METADATA=none "$work/own" cpu 40 20
[ ! -s "$work/taken.refused" ] || fail "refused: $(cat "$work/taken.refused")"
/usr/bin/python3 - "$work/taken" "$work/told" <<-'END' || fail "the pushed profiles"
	import json, sys
	lines = list(map(json.loads, open(sys.argv[1])))
	told = {}
	for trace, span, route, number, took in map(str.split, open(sys.argv[2])):
	    told[span] = (trace, route, float(took))
	links, spans, keys = {}, {}, set()
	for m in lines:
	    for link, value in m.get('links', {}).get('cpu:nanoseconds', {}).items():
	        links[link] = links.get(link, 0) + value / 1e6
	    if m.get('metric') == 'process_cpu':
	        keys |= set(m['told'])
	        for span, value in m['told'].get('span_id', {}).items():
	            spans[span] = spans.get(span, 0) + value / 1e6
	for span, (trace, route, took) in told.items():
	    assert links.get(trace + ':' + span, 0) == spans.get(span, 0), (span, took)
	assert set(spans) <= set(told) and len(spans) >= 20, set(spans) ^ set(told)
	# A series for each route, none for each trace.
	assert keys == {'span_id', 'http_route', 'http_method'}, keys
END

# A recovered recording has them.
mkdir "$work/spool"
ASPROF_AGENT_SPOOL_DIR=$work/spool ASPROF_AGENT_LOCAL_DIR=$work/left ASPROF_AGENT_ENGINE=builtin \
	ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_CPU_INTERVAL=1ms ASPROF_AGENT_REPORTING_INTERVAL=1h \
	LD_PRELOAD=$preload "$work/own" cpu 10000 50 >"$work/told" &
pid=$!
servers="$servers $pid"
for _ in $(seq 600); do
	[ "$(wc -l <"$work/told")" -lt 12 ] || break
	sleep 0.05
done
sleep 2 # until their chunk is finished
kill -9 $pid
wait $pid 2>/dev/null
"$agent" recover -o "$work/recovered" "$work/spool" >"$work/out" 2>&1 || "$agent" recover "$work/spool" >"$work/out" 2>&1 ||
	fail "recover: $(cat "$work/out")"
found=$(find "$work/recovered" "$work/spool" -name '*.jfr' 2>/dev/null | head -1)
[ -n "$found" ] || fail "nothing was recovered: $(cat "$work/out")"
"$agent" top --cpu --by http.route "$found" >"$work/by" && grep -q '/search' "$work/by" ||
	fail "recovered: $(cat "$work/by")"
