#!/bin/bash
# A program that lacks a resource, or runs in an unusual environment, behaves as without the agent: with a profile, or
# with one line that gives the reason.
. "$(dirname "$0")/agent.inc"

# A third of a second of work or more.
cat >"$work/program" <<'END'
i=0
while [ $i -lt 300000 ]; do i=$((i + 1)); done
echo out
exit 5
END
for_everybody

# surrounded WHAT LINE SCRIPT: SCRIPT, of bash, ends with `exec "$@"`, which is the program. stderr matches LINE. If
# LINE is empty, the program must be profiled.
surrounded() {
	local what="$1, $engine" line=$2 status
	rm -rf "$work/reports" && mkdir -m 0777 "$work/reports"
	profiled "$work/reports" "$engine" PROCESS=sh bash -c "$3" "$0" sh "$work/program" \
		>"$work/said" 2>"$work/err"
	status=$?
	[ $status = 5 ] || fail "$what: status $status, $(cat "$work/err")"
	[ "$(cat "$work/said")" = "${said-out}" ] || fail "$what: $(cat "$work/said")"
	if [ -n "$line" ]; then
		grep -q "$line" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] ||
			fail "$what: $(cat "$work/err")"
	else
		[ ! -s "$work/err" ] || fail "$what: $(cat "$work/err")"
		[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$what: no report"
	fi
}

# Operations that a container may refuse, or that only root may do.
as_root() {
	[ "$(id -u)" -eq 0 ] && "$@" true 2>/dev/null
}

# A name of any length can be selected.
name=$(printf 'long%.0s' {1..40})
cp "$(command -v sleep)" "$work/$name" || exit 1
profiled "$work/long" builtin PROCESS="$name" "$work/$name" 0.5 || fail "long name: status $?"
[ -n "$(find "$work/long" -name '*.jfr')" ] || fail "long name: no report"

somebody='setpriv --reuid=65534 --regid=65534 --clear-groups'
for engine in $(engines); do
	surrounded "as ever" "" 'exec "$@"'
	surrounded "private" "" 'umask 077; unset HOME; cd /; exec "$@"'
	surrounded "nothing in the environment" "" 'for name in $(compgen -e); do
		[[ $name = ASPROF* || $name = LD_PRELOAD ]] || unset "$name"; done; exec /bin/sh "${@:2}"'
	surrounded "few descriptors" "" 'ulimit -S -n 16; exec "$@"'
	surrounded "signals ignored" "" 'trap "" TERM INT PIPE PROF VTALRM STKFLT PWR RTMIN; exec "$@"'
	said='' surrounded "no input and output" "" 'exec "$@" <&- >&- 2>&-'
	surrounded "no temporary directory" "cannot keep profiles in /proc/none/asprof-agent-" \
		'export ASPROF_AGENT_LOCAL_DIR= TMPDIR=/proc/none; exec "$@"'
	as_root $somebody || continue
	surrounded "somebody" "" "exec $somebody"' "$@"'
	surrounded "no thread" "cannot start a thread: .*; profiling is off in this process" \
		"exec $somebody"' prlimit --nproc=1:1 "$@"'
	as_root unshare -m || continue
	without_proc=
	[ $engine = builtin ] || without_proc='start failed: .*; profiling is off in this process'
	surrounded "no /proc" "$without_proc" \
		'exec unshare -m bash -c "umount -l /proc; exec \"\$@\"" - "$@"'
	surrounded "first process" "" 'exec unshare -pf --mount-proc "$@"'
done
echo ok
