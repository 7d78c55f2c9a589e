#!/bin/bash
# The first process of a pid namespace, as in a container. The kernel discards its SIGTERM if it has no handler. The
# agent writes the last report at that moment, and the program does not see the signal. Some time later it is killed,
# as by `docker stop`; the spool has the samples from between. With a handler, its end is reported as usual, and also
# at SIGTERM, because the handler may take longer than the grace period. The same holds for a program that reads the
# signal.
#
#   STOP_SECONDS=10  at least so long after SIGTERM (0)
. "$(dirname "$0")/agent.inc"
first_process=$(program first_process)
enter=(unshare --pid --fork --mount-proc --kill-child)
"${enter[@]}" true 2>/dev/null || enter=(unshare --user --map-root-user --pid --fork --mount-proc --kill-child)
"${enter[@]}" true 2>/dev/null || skip "no pid namespaces here"

# (A process that entered the namespace ends with its first process.)
outer=
trap '[ -z "$outer" ] || kill -KILL "$outer" 2>/dev/null; rm -rf "$work"' EXIT

mkfifo "$work/told"
exec {told}<>"$work/told"

# begin ENGINE [ARGUMENT]: start it, and wait until it is profiled; $first is its pid here.
begin() {
	rm -rf "$work/out" "$work/spool" "$work/recovered" "$work/err"
	mkdir "$work/spool"
	while read -r -t 0.01 -u "$told" _; do # the signal that the previous one got
		:
	done
	env ASPROF_AGENT_SPOOL_DIR="$work/spool" \
		ASPROF_AGENT_ENGINE="$1" ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-libasyncProfiler.so}" \
		ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_CPU_INTERVAL=1ms \
		ASPROF_AGENT_REPORTING_INTERVAL=1h ASPROF_AGENT_EXIT_TIMEOUT=30s ASPROF_AGENT_LOG=info \
		"${enter[@]}" env LD_PRELOAD="$preload" "$first_process" "${@:2}" \
		>"$work/seen" 2>"$work/err" <&"$told" &
	outer=$!
	until_true grep -qs 'profiling first_process' "$work/err" || fail "not profiled: $(cat "$work/err")"
	first=$(pgrep -P $outer)
	works
}

# works: wait until it has used 400 ms more CPU time. (The kernel checks timers of CPU time at its ticks, a hundred or
# more a second. On a busy machine fewer of them hit the program.)
works() {
	used=$(cut -d' ' -f1 "/proc/$first/schedstat")
	until_true has_worked || fail "it does nothing"
}

# is_kept: wait until the spool has the samples up to now.
is_kept() {
	local _
	for _ in 1 2; do
		size=$(stat -c %s "$work/spool"/.first_process_1_*.running.chunks)
		until_true has_grown || fail "$engine: nothing comes to the spool: $(ls -lA "$work/spool")"
	done
}

has_grown() {
	[ "$(stat -c %s "$work/spool"/.first_process_1_*.running.chunks)" -gt "$size" ]
}

# await_end: check that it ends with the expected status.
await_end() {
	local status
	wait "$outer" 2>/dev/null
	status=$?
	outer=
	return $status
}

has_worked() {
	[ "$(cut -d' ' -f1 "/proc/$first/schedstat")" -gt $((used + 400000000)) ]
}

reported() {
	[ -n "$(find "$work/out" -name 'first_process_1_*.jfr')" ]
}

# sampled FUNCTION FILE...: check that there are some samples of FUNCTION; $count is their number.
sampled() {
	count=$("$agent" collapsed --cpu "${@:2}" | samples ";$1(;|$)")
	[ "$count" -ge 10 ]
}

for engine in $(engines); do
	begin "$engine"
	kill -TERM "$first"
	until_true reported || fail "$engine: no report at SIGTERM: $(cat "$work/err")"
	echo go on >&"$told"
	until_true grep -q interrupted "$work/seen" || fail "$engine: it did not go on: $(cat "$work/seen")"
	grep -qx 'interrupted 0, default 1, child dies 1' "$work/seen" || fail "$engine: $(cat "$work/seen")"
	works
	is_kept
	sleep "${STOP_SECONDS:-0}"
	kill -KILL "$first"
	await_end
	sampled computes "$work"/out/first_process_1_*.jfr || fail "$engine: the report at SIGTERM: $count samples"
	"$agent" recover -o "$work/recovered" "$work/spool" >"$work/said" || fail "$engine: $(cat "$work/said")"
	sampled goes_on "$work"/recovered/first_process_1_*.jfr ||
		fail "$engine: behind SIGTERM: $count samples: $(cat "$work/said")"

	begin "$engine" handler
	kill -TERM "$first"
	await_end
	[ $? -eq 3 ] || fail "$engine: with a handler: $(cat "$work/seen")"
	reported || fail "$engine: no report of one with a handler: $(cat "$work/err")"
	sampled computes "$work"/out/first_process_1_*.jfr || fail "$engine: with a handler: $count samples"
	[ -z "$(find "$work/spool" -type f)" ] || fail "$engine: left in the spool: $(ls -A "$work/spool")"

	# It is killed before its end, with a handler for the signal, or while it reads the signal.
	for way in slow waits reads; do
		begin "$engine" $way
		kill -TERM "$first"
		until_true reported || fail "$engine: no report of one whose end takes long ($way): $(cat "$work/err")"
		kill -KILL "$first"
		await_end
		sampled computes "$work"/out/first_process_1_*.jfr ||
			fail "$engine: an end that takes long ($way): $count samples"
	done
done 2>/dev/null

forked=$(program first_forked)
"$forked" || skip "a program cannot create a pid namespace here"
for engine in $(engines); do
	profiled "$work/forked" "$engine" START_DELAY=0 "$forked" handled >"$work/said" 2>&1 ||
		fail "$engine: a forked child: status $? $(cat "$work/said")"
done
