#!/bin/bash
# A forked child is profiled as a separate process: with its own pid, and with its own samples only.
. "$(dirname "$0")/agent.inc"

forked=$(program forked) || exit 1

# reports PID: print the reports of process PID.
reports() {
	find "$work/out" -name "*_$1_*.jfr"
}

# run HOW ENGINE [VARIABLE=value...]: its output is in $work/said.
run() {
	local how=$1 engine=$2
	shift 2
	rm -rf "$work/out"
	profiled "$work/out" "$engine" CPU_INTERVAL=1ms LOG=info "$@" "$forked" "$how" \
		>"$work/said" 2>"$work/err" || fail "$how, $engine: $? $(cat "$work/err")"
}

# each_is_profiled WHAT NAME...: each of them has a report with its own functions.
each_is_profiled() {
	local what=$1 names name pid
	shift
	names=$(sort "$work/said" | cut -d' ' -f1 | xargs)
	[ "$names" = "$*" ] || fail "$what: it said: $(cat "$work/said" "$work/err")"
	while read -r name pid; do
		[ -n "$(reports "$pid")" ] || fail "$what: no report of $name: $(ls "$work/out")"
		# shellcheck disable=SC2046
		"$agent" collapsed --cpu $(reports "$pid") >"$work/stacks" || fail "$what: $name"
		# Of 300; on a busy machine a child's agent may start late.
		count=$(samples ";$name(;|$)" <"$work/stacks")
		[ "$count" -ge 150 ] && [ "$count" -le 330 ] || fail "$what: $count samples of $name"
		for other in "$@"; do
			[ "$other" = "$name" ] || [ "$(samples ";$other;" <"$work/stacks")" = 0 ] ||
				fail "$what: $other is in the profile of $name: $(cat "$work/stacks")"
		done
	done <"$work/said"
}

workers="below_worker other_worker worker"
for engine in $(engines); do
	# shellcheck disable=SC2086
	for how in late thread; do
		run $how "$engine" START_DELAY=50ms
		each_is_profiled "$how, $engine" $workers
	done
done
[ -z "${ASPROF_TEST_LIB:-}" ] ||
	grep -q 'async-profiler does not live through a fork; the builtin' "$work/err" ||
	fail "what engine a child has is not told: $(cat "$work/err")"

# Forked before the parent has an engine: the options are for async-profiler.
[ -z "${ASPROF_TEST_LIB:-}" ] || {
	run early auto START_DELAY=300ms ENGINE_OPTIONS=event=ctimer
	# shellcheck disable=SC2086
	each_is_profiled "early, with options" $workers
}

# Forked before the parent has an agent.
# shellcheck disable=SC2086
{
	run early builtin START_DELAY=300ms
	each_is_profiled early $workers
	run early builtin
	each_is_profiled "early, no delay" $workers
}
run daemon builtin
each_is_profiled daemon below_daemon

# A child does not retain memory that it inherited, and its free of that memory is not recorded.
run memory builtin NATIVE_MEM=0
read -r _ child <"$work/said"
"$agent" collapsed --live "$(reports "$child")" >"$work/stacks" || fail "memory: no stacks"
[ "$(samples ';parent_keeps(;|$)' <"$work/stacks")" = 0 ] || fail "memory: $(cat "$work/stacks")"
within 1 75 "$(samples ';child_keeps(;|$)' <"$work/stacks")" "memory: what a child retains"
freed=$("$agent" summary "$(reports "$child")" | awk '$NF == "profiler.Free" { print $1 }')
[ "${freed:-0}" -ge 25 ] && [ "$freed" -lt 50 ] || fail "memory: $freed were given back"

# only_parent WHAT: only the parent has reports.
only_parent() {
	[ "$(find "$work/out" -name '*.jfr' | sed 's/_[^_]*$//' | sort -u | wc -l)" = 1 ] ||
		fail "$1: more than one process is profiled: $(ls "$work/out")"
}

run brief builtin START_DELAY=1s
only_parent brief
run stopped builtin
only_parent stopped

# Mappings of the ancestors' agents do not accumulate in descendants.
run generations builtin
[ "$(wc -l <"$work/said")" -eq 19 ] || fail "generations: $(cat "$work/said" "$work/err")"
[ "$(tail -n 1 "$work/said")" -le $(($(head -n 1 "$work/said") + 10)) ] ||
	fail "generations have mappings: $(xargs <"$work/said")"

# Called the way current programs do.
rm -rf "$work/out"
profiled "$work/out" builtin FORK=off LOG=info sh -c '(sleep 0.5; :); :' 2>"$work/err" ||
	fail "FORK=off: $(cat "$work/err")"
[ "$(find "$work/out" -name 'sh_*' | wc -l)" = 1 ] || fail "FORK=off: $(ls "$work/out")"
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
