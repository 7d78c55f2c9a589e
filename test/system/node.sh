#!/bin/bash
# JavaScript functions are in the stacks where node's V8 runs them, between native functions and with their lines: in
# samples of CPU time and of allocations.
#
#   NODES="/opt/node-22/bin/node …"  these executables (default: node, or nodejs)
. "$(dirname "$0")/frames.inc"
export comment=//
source=test/programs/shape.js

# frame FUNCTION COMMENT: its form in a stack, as a pattern.
frame() {
	echo "$(sed -E 's/[().]/[&]/g' <<<"$1") [(]shape.js:$(line "$2")[)]"
}

# burns FUNCTION COMMENT [AT_LEAST]: it is called at COMMENT.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");(.*;)?burn [(]shape.js:[0-9]+[)]" "${3:-10}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off NATIVE_MEM=64k \
		"$tried" "$source" 2>"$work/err") || fail "$tried: status $?: $(cat "$work/err")"
	[ "$out" = "ok 210" ] || fail "$tried: its output is: $out"
	[ ! -s "$work/err" ] || fail "$tried: on standard error: $(cat "$work/err")"

	stacks --cpu
	# A computing function has its callers, up to the outermost.
	all=$(samples '(^|;)burn ' <"$work/stacks")
	[ "$all" -ge 200 ] || fail "$tried: $all samples: $(head -c 4000 "$work/stacks")"
	callers='three|one|deeper|sell|counts|fetches|[(]anonymous[)]|works|made_[0-9]+|main'
	whole=$(samples "(^|;)($callers) [(](shape|made).js:[0-9]+[)];(\[V8\];|Builtins_[^;]*;)*burn " <"$work/stacks")
	[ $((whole * 100)) -ge $((all * 99)) ] ||
		fail "$tried: $whole of $all have a caller: $(grep -E '(^|;)burn ' "$work/stacks" | head -c 4000)"

	# (Each does the same number of rounds. A busy processor may take more time for one of them.)
	three_to_one 50
	burns three 'three burns' 30
	burns one 'one burns'
	burns deeper 'at the bottom'
	burns sell sells
	burns counts counts
	burns fetches fetches
	burns fetches 'fetches later'
	burns works works
	seen serves "$(frame serves serves);(.*;)?$(frame fetches fetches);" 10
	# One of V8's own functions that calls back is between them.
	seen sort ';sorts [(]shape.js:[0-9]+[)];(.*;)?sort;(.*;)?'"$(frame '(anonymous)' compares)"';' 10

	# A recursion of sixty calls has sixty frames.
	sixty_deep deeper

	# Each function that was created and dropped has its own name and line.
	made=$(grep -oE ';made [(]shape.js:[0-9]+[)];(.*;)?made_[0-9]+ [(]made.js:3[)];' "$work/stacks" |
		grep -oE 'made_[0-9]+' | sort -u | wc -l)
	[ "$made" -ge 5 ] || fail "$tried: $made of 50 functions that were made: $(head -c 4000 "$work/stacks")"
	wrong=$(grep -oE '(^|;)(three|one|deeper|sell|counts|sorts|hoards|works) [(][^)]*' "$work/stacks" |
		grep -v 'shape.js:[0-9]' | sort -u)
	[ -z "$wrong" ] || fail "$tried: in another file: $wrong"

	# V8's own code between functions is shown on request, and so is each kind of frames alone. (A function that
	# is compiled at its first call is in no stack yet.)
	grep -E '[.]js:[0-9]+[)]' "$work/stacks" | grep -E '\[V8\]|Builtins_' >"$work/own" &&
		fail "$tried: V8's own code: $(head -n 5 "$work/own")"
	stacks --cpu --frames all
	seen all '(\[V8\]|Builtins_[^;]*|libnode[^;]*[+]0x[0-9a-f]+);(.*;)?three [(]'
	stacks --cpu --frames script
	seen script '^([^;]* [(][^;]*[)];)*([^;]*;)?([^;]* [(][^;]*[)];)*three [(]'
	[ "$(samples '^_start;.*three [(]' <"$work/stacks")" = 0 ] || fail "$tried: native frames: $(head -c 4000 "$work/stacks")"
	stacks --cpu --frames native
	seen native 'node::'
	[ "$(samples 'shape.js' <"$work/stacks")" = 0 ] || fail "$tried: functions: $(head -c 4000 "$work/stacks")"

	# Memory that functions allocate outside V8's heap counts for them, too.
	"$agent" leaks --lines -n 1 --stack-depth 99 "$work/out" >"$work/leaks" || fail "$tried: no leaks"
	grep -qE "^ *$(frame hoards hoards) \[programs/shape.js\]" "$work/leaks" ||
		fail "$tried: what leaks is not named: $(cat "$work/leaks")"
}

# The innermost function and its line are known, also where V8 inlined it in another one.
try_inlined() {
	rm -rf "$work/out"
	profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off "$tried" test/programs/inlined.js \
		>"$work/said" 2>"$work/err" || fail "$tried: status $?: $(cat "$work/err")"
	stacks --cpu
	all=$(samples 'processImmediate [(]|[(]inlined[.]js:' <"$work/stacks")
	own=$(samples 'pairs [(]inlined[.]js:1[0-2][)]$' <"$work/stacks")
	[ "$all" -ge 100 ] || fail "$tried: $all samples: $(head -c 4000 "$work/stacks")"
	[ $((own * 100)) -ge $((all * 80)) ] ||
		fail "$tried: $own of $all samples are in the loops: $(head -c 4000 "$work/stacks")"
}

[ -n "${NODES-}" ] || NODES=$(command -v node || command -v nodejs) || skip "node is not installed"
for tried in $NODES; do
	have "$tried"
	case $("$tried" --version) in
	v18.*) [ "$("$tried" -p 'process.versions.v8.split(".", 2).join()')" = 10,2 ] || skip "another V8" ;;
	v20.* | v22.* | v24.*) ;;
	*) skip "$("$tried" --version) is not known" ;;
	esac
	again try
	again try_inlined
done

# V8's native code only, on request.
as_it_is '' "$tried" "$source"
