#!/bin/bash
# Calls on a FUSE file system whose server ends requests at an interrupt: wall-clock samples do not end calls that wait.
# The samples have the call, its cause and its path.
. "$(dirname "$0")/agent.inc"
program fuse_calls >/dev/null
mkdir "$work/mounted"
# in_mount MS [VARIABLE=VALUE...]: its output is in $work/out
in_mount() {
	timeout -k 5 60 "$work/fuse_calls" serve "$work/mounted" env "${@:2}" \
		"$work/fuse_calls" "$work/mounted" "$1" >"$work/out" 2>"$work/err"
}

in_mount 200
case $? in
77) skip "$(cat "$work/out")" ;;
0) ;;
*) fail "bare: $(cat "$work/out" "$work/err")" ;;
esac

for wall in 2ms 50ms; do
	in_mount 2000 LD_PRELOAD="$preload" ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_LOCAL_DIR="$work/reports" \
		ASPROF_AGENT_START_DELAY=0s ASPROF_AGENT_CPU_INTERVAL=off ASPROF_AGENT_WALL_INTERVAL=$wall
	read -r failed _ calls _ < <(tail -n 2 "$work/out")
	# A sample may meet a thread that is about to wait. Where each sample ended the call, a quarter failed.
	[ "${calls:-0}" -ge 20 ] && [ $((failed * 20)) -le "$calls" ] ||
		fail "a sample each $wall: $(sort "$work/out" | uniq -c) $(cat "$work/err")"
done

"$agent" collapsed --wall --cause file "$work/reports" >"$work/stacks" 2>"$work/err" || fail "$(cat "$work/err")"
for call in stat open read close; do
	grep -q "$call" "$work/stacks" || fail "no sample of $call: $(cat "$work/stacks")"
done
"$agent" waits --by file "$work/reports" >"$work/files" 2>&1
grep -q "$work/mounted/slow" "$work/files" || fail "the file is not named: $(cat "$work/files")"
