#!/bin/bash
# ASPROF_AGENT_MEMORY bounds the agent's memory in a program of many stacks and threads. The program's output is the
# same, and the report lists refused requests.
# Takes long.
. "$(dirname "$0")/agent.inc"
. test/system/push.inc

program=$(program bounded_memory) || exit 1
threads=40

# Memory beyond the limit, in KiB: the agent's code, its threads' stacks, and a signal stack for each thread.
outside=$((4096 + threads * 12))

# peak DIR SETTING...: peak resident size of the program.
peak() {
	dir=$work/$1
	shift
	out=$(profiled "$dir" builtin REPORTING_INTERVAL=3s CPU_INTERVAL=1ms NATIVE_MEM=1k BUDGET=off "$@" \
		"$program" "$threads" 250 "$work/peak" 2>"$work/err") || fail "$*: status $?: $(cat "$work/err")"
	[ "$out$(cat "$work/err")" = "$((threads * 250)) paths" ] || fail "$*: $out $(cat "$work/err")"
	cat "$work/peak"
}

"$program" "$threads" 250 "$work/peak" >"$work/out" || fail "it fails by itself"
[ "$(cat "$work/out")" = "$((threads * 250)) paths" ] || fail "by itself: $(cat "$work/out")"
alone=$(cat "$work/peak")

bounded=$(peak bounded MEMORY=2m) || exit 1
unbounded=$(peak unbounded MEMORY=off) || exit 1
echo "alone $alone KiB, with 2 MiB $bounded KiB, without a limit $unbounded KiB"
[ $((bounded - alone)) -le $((2048 + outside)) ] || fail "$((bounded - alone)) KiB with a limit of 2 MiB"
[ $((bounded)) -lt $((unbounded)) ] || fail "the limit has no effect"

"$agent" summary "$work/bounded" >"$work/summary" || fail "summary: $?"
grep -q 'requests for memory: .*ASPROF_AGENT_MEMORY' "$work/summary" || fail "nothing refused: $(cat "$work/summary")"
"$agent" summary --json "$work/unbounded" | grep -q '"memoryRefused": *0' || fail "refused without a limit"

# Samples are still taken, with their stacks, as far as there is room.
"$agent" collapsed --cpu "$work/bounded" >"$work/stacks" 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(samples at_the_end <"$work/stacks")" -gt 100 ] || fail "few samples with stacks"

# The smallest limit is in the message.
profiled "$work/none" builtin MEMORY=1m true 2>"$work/err" || fail "the program fails"
grep -q 'ASPROF_AGENT_MEMORY=1m is not accepted.*2m' "$work/err" || fail "message: $(cat "$work/err")"

# By default, nothing is refused while two destinations aggregate reports of 3,000 stacks of 120 frames.
many=$(program many_stacks) || exit 1
serve taken
profiled "$work/both" builtin CPU_INTERVAL=1ms REPORTING_INTERVAL=1h METADATA=none LOG_FILE="$work/log" EXIT_TIMEOUT=5m \
	PYROSCOPE_URL="$url" OTLP_ENDPOINT="$url" "$many" 6500 120 0 12000 >"$work/said" || fail "many stacks: status $?"
[ ! -s "$work/log" ] || fail "many stacks: $(cat "$work/log")"
for report in "$work"/both/*.jfr; do
	"$agent" summary --json "$report" >"$work/summary" || fail "summary: $?"
	grep -q '"memoryRefused": *0' "$work/summary" || fail "refused by default: $(cat "$work/summary")"
done
"$agent" collapsed --cpu "$work/both" >"$work/stacks" || fail "no stacks"
[ "$(samples 'stack table full' <"$work/stacks")" = 0 ] || fail "samples have no stack by default"
for kind in pprof otlp; do
	[ "$(grep -c "\"kind\": \"$kind\"" "$work/taken")" -ge 3 ] || fail "$kind: $(cat "$work/taken.requests")"
done
echo "$(wc -l <"$work/stacks") stacks in $(find "$work/both" -name '*.jfr' | wc -l) reports"
