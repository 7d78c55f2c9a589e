#!/bin/bash
# A store is stopped (SIGSTOP) while a report is being sent, and continues when the program has ended. It then has the
# report, but sent no response. The next program asks before it sends the spool's reports, so that nothing is sent
# twice.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
store
kill -STOP "$store_pid"
profiled 1.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_EXIT_TIMEOUT=1s
left=$(find "$work/spool" -name '*.jfr' | wc -l)
[ "$left" -ge 1 ] || fail "nothing is left in the spool"
[ ! -s "$work/objects.log" ] || fail "the store was not stopped"

kill -CONT "$store_pid"
until_true [ -s "$work/objects.log" ] || fail "nothing was on its way"
profiled 1.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_EXIT_TIMEOUT=20s
twice=$(sed 's/.* //' "$work/objects.log" | sort | uniq -d)
echo "$left were left; $(wc -l <"$work/objects.log") were sent, the store has $(list | wc -l)"
[ -z "$twice" ] || fail "sent twice: $twice"
[ -z "$(refused)" ] || fail "refused: $(refused)"
[ "$(list | wc -l)" -gt "$left" ] || fail "not all arrived"
[ -z "$(find "$work/spool" -name '*.jfr')" ] || fail "the spool holds $(ls -A "$work/spool")"
