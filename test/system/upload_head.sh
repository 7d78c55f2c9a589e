#!/bin/bash
# A store, or a gateway in front of it, refuses HEAD and loses responses. Every report arrives once, from memory or
# from a spool, also those of a killed process. The log reports once that HEAD is refused.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"

# Without a store: the spool then has reports of another process, and it is unknown whether they were sent.
port=$(free_port)
export url=http://127.0.0.1:$port
profiled 2 ASPROF_AGENT_PROFILING_GROUP=old ASPROF_AGENT_LOCAL_DIR="$work/old" ASPROF_AGENT_LOG_FILE="$work/old.log" \
	ASPROF_AGENT_SPOOL_DIR="$work/kept" ASPROF_AGENT_EXIT_TIMEOUT=1s
STORE_WITH+=(--head 503 --lost 2)
store
# One after the other: with two at once, one might lose no response.
for what in memory spool; do
	spool=()
	[ $what = memory ] || spool=(ASPROF_AGENT_SPOOL_DIR="$work/kept")
	profiled 8 ASPROF_AGENT_PROFILING_GROUP=$what ASPROF_AGENT_LOCAL_DIR="$work/$what" \
		ASPROF_AGENT_LOG_FILE="$work/$what.log" ASPROF_AGENT_EXIT_TIMEOUT=60s "${spool[@]}" || fail "a program failed"
done
# With a spool a process does not wait for the remaining reports: another one delivers them.
for _ in 1 2 3 4 5 6; do
	[ -n "$(find "$work/kept" -type f)" ] || break
	profiled 8 ASPROF_AGENT_PROFILING_GROUP=spool ASPROF_AGENT_LOCAL_DIR="$work/spool.more" \
		ASPROF_AGENT_LOG_FILE="$work/more.log" ASPROF_AGENT_EXIT_TIMEOUT=20s ASPROF_AGENT_SPOOL_DIR="$work/kept"
done
[ -z "$(find "$work/kept" -name '*.jfr')" ] || fail "the spool holds $(find "$work/kept" -type f)"

made() {
	find "$work/$1" "$work/$1.more" -name '*.jfr' 2>/dev/null | wc -l
}
for what in old memory spool; do
	arrived=$(list | grep -c "^profile_${what}_")
	echo "$what: $arrived of $(made $what) reports arrived"
	[ "$arrived" -gt 0 ] && [ "$arrived" = "$(made $what)" ] || fail "$what: $arrived of $(made $what) reports arrived"
done
grep -q '^[0-9]* 0 ' "$work/objects.log" || fail "no answer was lost"
for what in memory spool; do
	cp "$work/$what.log" "$work/log"
	said 'answers HEAD with 503'
done
