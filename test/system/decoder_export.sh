#!/bin/sh
# Exported profiles have the samples of the recording. Schemas of the other projects check them, if these are here:
# SPEEDSCOPE_SCHEMA (file-format-schema.json of npm's speedscope), FIREFOX_CHECK (a program of Firefox Profiler's
# unserializeProfileOfArbitraryFormat that prints {"samples": N}), and Python's perfetto and opentelemetry-proto.
. "$(dirname "$0")/agent.inc"
have python3
recording=test/fixtures/jfr/java.jfr

for format in speedscope firefox perfetto otlp collapsed pprof; do
	"$agent" export --format $format "$recording" -o "$work/$format" || fail "$format: status $?"
	[ -s "$work/$format" ] || fail "$format: an empty file"
done
"$agent" collapsed "$recording" | cmp -s - "$work/collapsed" || fail 'collapsed differs from its own command'
"$agent" summary --json "$recording" >"$work/summary" || fail "summary: status $?"

"$agent" export --format nothing "$recording" 2>"$work/err"
[ $? = 2 ] && grep -q 'speedscope, firefox' "$work/err" || fail "an unknown format: $(cat "$work/err")"
"$agent" export --format otlp --thread 'no such thread' "$recording" -o "$work/empty" 2>"$work/err" ||
	fail "an empty export: status $?"
grep -q 'no thread matches' "$work/err" || fail "an empty export: $(cat "$work/err")"
# Native allocations that were not freed have no single samples.
for format in speedscope firefox perfetto otlp; do
	for switch in --live --leak; do
		"$agent" export --format $format $switch test/fixtures/jfr/native.jfr >"$work/out" 2>"$work/err"
		[ $? = 2 ] && grep -q "export: $switch requires --format collapsed or pprof" "$work/err" && ! [ -s "$work/out" ] ||
			fail "$format $switch: accepted: $(cat "$work/err")"
	done
done
"$agent" export --format collapsed --live test/fixtures/jfr/native.jfr | grep -q ';' || fail 'collapsed --live: nothing'
# A reader of a pipe may go away, and the name of a frame is data.
"$agent" export --format speedscope "$recording" | head -c 100 >/dev/null

python3 - "$work" "${SPEEDSCOPE_SCHEMA:-}" <<'END' || fail 'see above'
import json, subprocess, sys
work, schema = sys.argv[1:]
counts = json.load(open(work + '/summary'))['events']
kinds = ['jdk.ExecutionSample', 'profiler.WallClockSample', 'profiler.Malloc', 'jdk.ObjectAllocationInNewTLAB',
         'jdk.ObjectAllocationOutsideTLAB', 'jdk.JavaMonitorEnter', 'jdk.ThreadPark']
wanted = sum(counts[kind]['count'] for kind in kinds if kind in counts)

speedscope = json.load(open(work + '/speedscope'))
firefox = json.load(open(work + '/firefox'))
found = {
    'speedscope': sum(1 for p in speedscope['profiles'] for s in p.get('samples', []) if s),
    'firefox': sum(t['samples']['length'] for t in firefox['threads']),
}
if schema:
    import jsonschema
    jsonschema.validate(speedscope, json.load(open(schema)))
    print('valid by the schema of speedscope')
try:
    from opentelemetry.proto.profiles.v1development import profiles_pb2
    data = profiles_pb2.ProfilesData()
    data.ParseFromString(open(work + '/otlp', 'rb').read())
    tables = data.dictionary
    types = {}
    for resource in data.resource_profiles:
        for profile in resource.scope_profiles[0].profiles:
            kind = tables.string_table[profile.sample_type.type_strindex]
            for sample in profile.samples:
                assert len(sample.values) == len(sample.timestamps_unix_nano)
                types[kind] = types.get(kind, 0) + len(sample.values)
                for location in tables.stack_table[sample.stack_index].location_indices:
                    for line in tables.location_table[location].lines:
                        assert tables.string_table[tables.function_table[line.function_index].name_strindex]
    found['otlp'] = sum(n for kind, n in types.items() if not kind.endswith(('_objects', 'contentions')))
except ImportError:
    print('not checked: otlp needs the Python package opentelemetry-proto')
try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(open(work + '/perfetto', 'rb').read())
    found['perfetto'], known = 0, {}
    for packet in trace.packet:
        names, paths, mappings, frames, stacks = known.setdefault(packet.trusted_packet_sequence_id,
                                                                  ({}, {}, {}, {}, {}))
        data = packet.interned_data
        names.update((x.iid, x.str) for x in data.function_names)
        paths.update((x.iid, x.str) for x in data.mapping_paths)
        mappings.update((x.iid, [paths[i] for i in x.path_string_ids]) for x in data.mappings)
        frames.update((x.iid, (names[x.function_name_id], mappings[x.mapping_id])) for x in data.frames)
        stacks.update((x.iid, [frames[i] for i in x.frame_ids]) for x in data.callstacks)
        if packet.HasField('perf_sample'):
            found['perfetto'] += 1
            assert not packet.perf_sample.callstack_iid or stacks[packet.perf_sample.callstack_iid]
except ImportError:
    print('not checked: perfetto needs the Python package perfetto')
print(wanted, 'samples:', found)
# Samples without a stack are gaps in speedscope's format.
sys.exit(any(n != wanted for kind, n in found.items() if kind != 'speedscope') or found['speedscope'] > wanted)
END
if [ -n "${FIREFOX_CHECK:-}" ]; then
	node "$FIREFOX_CHECK" "$work/firefox" || fail "Firefox Profiler does not read its format"
fi
