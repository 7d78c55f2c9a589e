#!/bin/bash
# Long polls that the hooks of the Rust crate async-profiler-agent mark are in the builtin engine's profiles, by the
# bridge with the name of async-profiler's library. The crate's own profiler runs together with the agent.
. "$(dirname "$0")/agent.inc"
. test/system/guide.inc

pollcatch=$(program pollcatch -ldl) || exit 1

# polls LIBRARY_DIRECTORY ENGINE ARGUMENT...: set $polls to the number of long polls in the agent's profile.
polls() {
	path=$1 engine=$2
	shift 2
	rm -rf "$work/reports"
	profiled "$work/reports" "$engine" CPU_INTERVAL=10ms START_DELAY="${delay:-0}" \
		LIB=libasyncProfiler.so env LD_LIBRARY_PATH="$path" "$pollcatch" "$@" >"$work/out" 2>"$work/err" ||
		fail "$engine, $path: status $?: $(cat "$work/out" "$work/err")"
	count_polls
}

# count_polls: set $polls to their number in the agent's profile.
count_polls() {
	polls=$("$agent" longpolls "$work/reports"/pollcatch*.jfr 1ms 2>"$work/none" | grep -c 'poll of')
}

for engine in builtin auto async-profiler; do
	for delay in 0 100ms; do
		polls "$B/bridge" $engine
		[ "$polls" -ge 20 ] || fail "$engine, start after $delay: $polls polls: $(cat "$work/err")"
		[ $engine = async-profiler ] || [ ! -s "$work/err" ] || fail "$engine, $delay: $(cat "$work/err")"
	done
done
delay=
# The bridge refuses to start the crate's profiler; the agent records the polls.
polls "$B/bridge" auto start "$work/own.jfr"
grep -q 'start refused' "$work/out" && [ "$polls" -ge 20 ] || fail "both, bridge: $polls polls: $(cat "$work/out" "$work/err")"
[ "$(LD_LIBRARY_PATH=$B/bridge "$pollcatch")" = 'failed 0' ] || fail "the bridge without the preload"

# As the guide says.
rm -rf "$work/reports"
guide_block docs/languages/tokio.md | sed "s|/usr/local/lib/asprof-agent|$B/bridge:$B|" >"$work/lines"
(
	. "$work/lines"
	ASPROF_AGENT_LOCAL_DIR=$work/reports ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_CPU_INTERVAL=10ms "$pollcatch"
) >"$work/out" 2>"$work/err" || fail "the guide: $(cat "$work/out" "$work/err")"
count_polls
[ "$polls" -ge 20 ] || fail "the guide: $polls polls: $(cat "$work/err")"

if [ -z "${ASPROF_TEST_LIB:-}" ]; then
	echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
	exit
fi
# Two profilers: the crate's records its own polls, and the agent samples by the builtin engine.
for engine in builtin auto async-profiler; do
	rm -f "$work/own.jfr"
	delay=100ms polls "$(dirname "$ASPROF_TEST_LIB")" $engine start "$work/own.jfr"
	own=$("$agent" longpolls "$work/own.jfr" 1ms | grep -c 'poll of')
	[ "$own" -ge 20 ] || fail "both, $engine: $own polls of its own: $(cat "$work/out" "$work/err")"
	count=$("$agent" collapsed --cpu "$work/reports"/pollcatch*.jfr | samples ';long_poll')
	[ "$count" -ge 50 ] || fail "both, $engine: $count samples"
done
echo ok
