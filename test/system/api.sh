#!/bin/sh
# The examples of the C interface, in C, C++ and Rust. With the preload their calls work and their polls are recorded.
# Without it they run too.
. "$(dirname "$0")/agent.inc"

${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -o "$work/c" test/programs/api_c.c || exit 1
made=c
if command -v "${CXX:-c++}" >/dev/null; then
	"${CXX:-c++}" -std=c++17 -I. -O2 -g -pthread -o "$work/cc" test/programs/api_cc.cc || exit 1
	made="$made cc"
fi
if command -v rustc >/dev/null; then
	rustc --edition 2021 -O -g -o "$work/rs" test/programs/api_rs.rs || exit 1
	made="$made rs"
fi

for each in $made; do
	[ "$("$work/$each")" = "no agent" ] || fail "$each: not without the agent"
	for engine in $(engines); do
		place=$work/$each-$engine
		profiled "$place" "$engine" CPU_INTERVAL=10ms ENGINE_OPTIONS=clock=tsc "$work/$each" >"$work/out" 2>"$work/err" ||
			fail "$each, $engine: status $?: $(cat "$work/out" "$work/err")"
		[ "$(tail -n 1 "$work/out")" = "done" ] || fail "$each, $engine: $(cat "$work/out")"
		# Samples have the label from the call on, not before it.
		"$agent" summary --tag color=red "$place" | grep -q ExecutionSample || fail "$each, $engine: no tag that was set"
		grep -q 'asprof_agent_set: COLOR=red: there is no option COLOR' "$work/err" ||
			fail "$each, $engine: nothing said of a wrong setting: $(cat "$work/err")"
		"$agent" longpolls "$place" 50ms --stack-depth 20 >"$work/polls" || fail "$each, $engine: longpolls"
		grep -q slow_turn "$work/polls" || fail "$each, $engine: no turn: $(cat "$work/polls")"
		echo "$each, $engine: $(grep -c 'poll of' "$work/polls") samples in slow turns"
	done
done
