#!/bin/bash
# Spools that cannot be used: one line gives the reason, files there stay unchanged, and reports arrive as without a
# spool.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
store

# arrives_without WHAT LINE [NAME=VALUE…]: with $work/spool as it is.
arrives_without() {
	local what=$1 line=$2
	shift 2

	empty
	rm -f "$work/log"
	profiled 1.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_EXIT_TIMEOUT=10s "$@"
	said "$line"
	[ "$(list | wc -l)" -ge 2 ] || fail "$what: $(list | wc -l) arrived"
	[ -z "$(refused)" ] || fail "$what: refused: $(refused)"
	echo "$what: $(grep -- "$line" "$work/log" | sed 's/^asprof-agent[^:]*: //')"
}

echo text >"$work/spool"
arrives_without 'no directory' 'SPOOL_DIR .* Not a directory'
[ "$(cat "$work/spool")" = text ] || fail "a file was written to"
rm "$work/spool"

if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 0500 "$work/spool"
	arrives_without 'one without write permission' 'SPOOL_DIR .* Permission denied'
	exit
fi
mkdir "$work/spool" && echo text >"$work/spool/theirs" && chown -R 12345 "$work/spool"
arrives_without 'somebody else'"'"'s' 'SPOOL_DIR .* belongs to another user'
[ "$(ls -A "$work/spool")" = theirs ] || fail "something is left with somebody else"
unshare -m true 2>/dev/null || skip "what needs no mount was seen; nothing can be mounted here"

# mounted OPTIONS: on the spool, in this process's own mount namespace.
mounted() {
	rm -rf "$work/spool" && mkdir "$work/spool"
	mount -t tmpfs -o "mode=700,$1" none "$work/spool" || fail "cannot mount"
	trap 'umount "$work/spool"; cleanup' EXIT
}
unmounted() {
	umount "$work/spool"
	trap cleanup EXIT
}
mounted ro
arrives_without 'read-only' 'SPOOL_DIR .* Read-only file system'
unmounted

# Too small for any report; and one that becomes full while reports wait in it, which stay complete.
mounted size=8k
arrives_without 'full' 'the spool cannot store a report: No space left'
[ -z "$(find "$work/spool" -type f)" ] || fail "a part of a report is left: $(ls -A "$work/spool")"
unmounted
mounted size=64k
rm -f "$work/log"
store_stop
profiled 4.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_CPU_INTERVAL=1ms \
	ASPROF_AGENT_EXIT_TIMEOUT=1s
port=${url##*:} store
# (Again after each report that still finds room: the running recording frees some when it continues in memory, and a
# busy machine's reports are small.)
count=$(grep -c 'the spool cannot store a report: No space left' "$work/log")
left=$(find "$work/spool" -name '*.jfr' | wc -l)
[ "$left" -ge 1 ] || fail "nothing is left in the spool"
[ "$count" -ge 1 ] && [ "$count" -le 4 ] && [ "$count" -le $((left + 1)) ] ||
	fail "the full spool is said $count times, with $left reports in it"
[ "$(find "$work/spool" -type f | wc -l)" -eq $((2 * left)) ] || fail "left: $(ls -A "$work/spool")"
for recording in "$work"/spool/*.jfr; do
	"$(dirname "$preload")/asprof-agent" duration "$recording" >/dev/null ||
		fail "$recording is not whole"
done
empty
profiled 1.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_EXIT_TIMEOUT=10s
[ "$(list | wc -l)" -ge $((left + 2)) ] || fail "of $left and new ones arrived: $(list)"
[ -z "$(find "$work/spool" -type f)" ] || fail "the spool holds $(ls -A "$work/spool")"
echo "filled up: $left reports stayed whole, and were delivered by the next program"
unmounted
