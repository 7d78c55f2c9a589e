#!/bin/bash
# Programs that exit by their own system calls, or with their last thread: the status and output are as without the
# agent, and there is a last report. Neither the kernel nor the C library counts the agent's threads, for any user.
. "$(dirname "$0")/agent.inc"

raw_exits=$(program raw_exits)
for_everybody
mkdir -m 1777 "$work/reports"

# leaves ENGINE HOW WANTED [COMMAND...]: it ends with that status, and a report has its function. COMMAND is a prefix.
leaves() {
	local engine=$1 how=$2 wanted=$3 where=computes
	shift 3
	rm -f "$work/reports"/*
	profiled "$work/reports" "$engine" CPU_INTERVAL=1ms "$@" timeout -k 1 60 "$raw_exits" "$how" \
		2>"$work/err" >"$work/out"
	status=$?
	[ $status = "$wanted" ] || fail "$engine, $how: status $status, bare $wanted: $(cat "$work/err")"
	[ ! -s "$work/err" ] || fail "$engine, $how: $(cat "$work/err")"
	cmp "$work/bare" "$work/out" || fail "$engine, $how: it says: $(cat "$work/out")"
	"$agent" collapsed --cpu "$work/reports"/raw_exits_*.jfr >"$work/stacks" 2>&1 ||
		fail "$engine, $how: no report: $(cat "$work/stacks")"
	# That thread continues when the main thread has ended.
	[ "$how" != last ] || where='return_last;computes'
	count=$(samples ";$where(;|\$)" <"$work/stacks")
	[ "$count" -ge 10 ] || fail "$engine, $how: $count samples"
}

for how in group exec exit thread child alone last; do
	"$raw_exits" $how >"$work/bare"
	bare=$?
	for engine in $(engines); do
		leaves "$engine" $how $bare
	done
done
# A user without rights that a thread of the agent could have in addition.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	for how in exit last; do
		"$raw_exits" $how >"$work/bare"
		bare=$?
		for engine in $(engines); do
			# shellcheck disable=SC2086 # words
			leaves "$engine" $how $bare $nobody
		done
	done
fi

# An exit by the program's own instruction is not seen: there is no last report. With a spool it is recovered from
# that.
mkfifo "$work/stdin"
until_true() {
	for _ in $(seq 1500); do
		! "$@" || return 0
		sleep 0.02
	done
	fail "$engine, inline: in vain: $* $(cat "$work/err"; ls -A "$work/spool")"
}

chunks() {
	find "$work/spool" -name '.raw_exits_*.running.chunks' -size +0
}

has_chunks() {
	[ -n "$(chunks)" ]
}

has_grown() {
	[ "$(stat -c %s "$(chunks)")" -gt "$size" ]
}

for engine in $(engines); do
	rm -rf "$work/spool" "$work/out" "$work/reports"/* && mkdir "$work/spool"
	profiled "$work/reports" "$engine" SPOOL_DIR="$work/spool" CPU_INTERVAL=1ms REPORTING_INTERVAL=1h "$raw_exits" inline \
		<"$work/stdin" >"$work/used" 2>"$work/err" &
	exec 9>"$work/stdin"
	until_true test -s "$work/used"
	until_true has_chunks
	# (The size grows at the end of a chunk, once a second.)
	for _ in 1 2; do
		size=$(stat -c %s "$(chunks)")
		until_true has_grown
	done
	exec 9>&-
	wait $!
	status=$?
	[ $status = 3 ] || fail "$engine, inline: status $status: $(cat "$work/err")"
	[ -z "$(ls "$work/reports")" ] || fail "$engine, inline: reports: $(ls "$work/reports")"
	"$agent" recover -o "$work/out" "$work/spool" >"$work/said" || fail "$engine, inline: $(cat "$work/said")"
	count=$("$agent" collapsed --cpu "$work/out"/raw_exits_*.jfr | samples ';computes(;|$)')
	[ "$count" -ge 50 ] || fail "$engine, inline: $count samples of 100: $(cat "$work/said")"
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
