#!/bin/bash
# What becomes of reports when the store is away, the program is killed or ends, the spool cannot
# be written, or the program has little to share.
#
# OUTAGE (6) and KILLS (3) may be set higher for a longer look.
. "$(dirname "$0")/upload.inc"
. "$here/swift.inc"
OUTAGE=${OUTAGE:-6} KILLS=${KILLS:-3}

names() {
	find "$work/local" -name '*.jfr' -printf '%f\n' |
		sed -E 's/^python3[^_]*_([0-9]+_[^.]*)\.jfr$/\1/' | sort
}

arrived() {
	list | sed -E 's/^profile_.*unknown___([0-9]+_.*)\.zip$/\1/' | sort
}

all_arrived() {
	local missing

	missing=$(comm -23 <(names) <(arrived))
	echo "$1: $(arrived | wc -l) of $(names | wc -l) reports arrived"
	[ -z "$missing" ] || fail "$1: missing: $missing"
	[ "$(names | wc -l)" -gt 0 ] || fail "$1: there were no reports"
}

fresh() {
	empty
	rm -rf "$work/local" "$work/log" "$work/spool"
}

waiting() {
	[ ! -d "$work/spool" ] || find "$work/spool" -type f | wc -l
}

# --- the store is away, then back ---
outage() {
	local what=$1 started
	shift

	rm -rf "$work/local" "$work/log"
	started=$SECONDS
	port=$(free_port) && url=http://127.0.0.1:$port
	# Later tries lie seconds apart: what is left at the end goes with the last report.
	profiled $((OUTAGE + OUTAGE / 2 + 4)) ASPROF_AGENT_LOCAL_DIR="$work/local" \
		ASPROF_AGENT_EXIT_TIMEOUT=10s "$@" &
	local job=$!
	sleep "$OUTAGE"
	store
	wait $job || fail "$what: the program failed"
	all_arrived "$what: away for $OUTAGE s of $((SECONDS - started))"
	said 'no upload to the bucket'
	said 'work again'
	store_stop
}
outage 'outage, kept in memory'
outage 'outage, kept in a spool' ASPROF_AGENT_SPOOL_DIR="$work/spool"
[ "$(waiting)" -eq 0 ] || fail "the spool holds $(ls -A "$work/spool")"

# --- kill -9 with a spool ---
port=$(free_port)
store
fresh
for _ in $(seq "$KILLS"); do
	(profiled 60 ASPROF_AGENT_LOCAL_DIR="$work/local" ASPROF_AGENT_SPOOL_DIR="$work/spool") \
		>/dev/null 2>&1 &
	job=$!
	sleep "$((RANDOM % 3 + 1)).$((RANDOM % 1000 + 1000))"
	victim=$(pgrep -P "$(pgrep -P $job | head -n 1)" 2>/dev/null | head -n 1)
	[ -n "$victim" ] || victim=$(pgrep -P $job | head -n 1)
	kill -9 "$victim"
	wait $job 2>/dev/null
done
left=$(waiting)
profiled 2.5 ASPROF_AGENT_LOCAL_DIR="$work/local" ASPROF_AGENT_SPOOL_DIR="$work/spool"
all_arrived "$KILLS times killed, $left files left in the spool"
[ "$(find "$work/spool" -name '*.jfr' | wc -l)" -eq 0 ] || fail "the spool still holds some"

# --- the end of the program, and a store that never answers ---
cat >"$work/hole.py" <<'END'
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(64)
held = []
while True:
    held.append(s.accept())
END
hole=$(free_port)
/usr/bin/python3 "$work/hole.py" "$hole" &
pids+=($!)
sleep 0.5
for timeout in 1 2; do
	fresh
	before=$(date +%s%N)
	profiled 2.5 ASPROF_AGENT_S3_ENDPOINT="http://127.0.0.1:$hole" \
		ASPROF_AGENT_EXIT_TIMEOUT=${timeout}s
	took=$((($(date +%s%N) - before) / 1000000))
	echo "exit, no answer, EXIT_TIMEOUT=${timeout}s: $((took - 2500)) ms more than the work"
	[ "$took" -lt $((2500 + timeout * 1000 + 1500)) ] || fail "exit took $took ms"
done
fresh
profiled 2.5 ASPROF_AGENT_S3_ENDPOINT="http://127.0.0.1:$hole" ASPROF_AGENT_EXIT_TIMEOUT=1s \
	ASPROF_AGENT_SPOOL_DIR="$work/spool"
[ "$(find "$work/spool" -name '*.jfr' | wc -l)" -ge 3 ] || fail "the spool did not keep them"
profiled 2.5 ASPROF_AGENT_SPOOL_DIR="$work/spool"
[ "$(list | wc -l)" -ge 6 ] || fail "the next program did not deliver what was left"
echo "left in the spool without an answer, delivered by the next program"

# --- spools that cannot be used: reports arrive without ---
spool_fails() {
	local what=$1 line=$2
	shift 2

	profiled 2.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" "$@"
	said "$line"
	[ "$(list | wc -l)" -ge 3 ] || fail "$what: $(list | wc -l) arrived"
	echo "$what: $(grep -- "$line" "$work/log" | sed 's/^asprof-agent[^:]*: //')"
}
fresh
: >"$work/spool"
spool_fails 'no directory' 'SPOOL_DIR'
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	fresh
	mkdir "$work/spool" && chown 12345 "$work/spool"
	spool_fails 'somebody else'"'"'s' 'belongs to another user'
	fresh
	mkdir "$work/spool"
	mount -t tmpfs -o ro none "$work/spool" || fail "cannot mount"
	spool_fails 'read-only' 'Read-only file system'
	umount "$work/spool"
	fresh
	mkdir "$work/spool"
	mount -t tmpfs -o size=8k none "$work/spool"
	spool_fails 'full' 'the spool takes no report: No space left'
	[ "$(find "$work/spool" -type f | wc -l)" -eq 0 ] || echo "(left: $(ls -A "$work/spool"))"
	umount "$work/spool"
fi

# --- programs that have little ---
scarce() {
	local what=$1
	shift

	fresh
	"$@" || fail "$what: the program failed"
	[ "$(list | wc -l)" -ge 3 ] || grep -q . "$work/log" || fail "$what: neither report nor word"
	echo "$what: $(list | wc -l) reports arrived$(grep -v ': profiling\|neither an\|come from' \
		"$work/log" | sed 's/^asprof-agent[^:]*: /; /' | head -n 2)"
}
no_stdio() {
	(profiled_quiet sleep 3.5) <&- >&- 2>&-
}
# What is given, under the preload.
profiled_quiet() {
	env -i PATH="$PATH" AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=testing \
		AWS_EC2_METADATA_DISABLED=true ASPROF_AGENT_S3_BUCKET=reports \
		ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_ENGINE=builtin \
		ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_LOG=info \
		ASPROF_AGENT_LOG_FILE="$work/log" LD_PRELOAD="$preload" "$@"
}
few_files() {
	(ulimit -n 16 && profiled_quiet sleep 3.5)
}
small_stacks() {
	(ulimit -S -s 16 && profiled_quiet sleep 3.5)
}
scarce 'a proxy in the environment' profiled 3.5 https_proxy=http://127.0.0.1:1 \
	http_proxy=http://127.0.0.1:1 all_proxy=http://127.0.0.1:1
scarce 'descriptors 0, 1 and 2 closed' no_stdio
scarce 'RLIMIT_NOFILE of 16' few_files
scarce 'a stack limit of 16 KiB' small_stacks
