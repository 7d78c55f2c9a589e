#!/bin/bash
# Functions of JavaScript stand where node's V8 runs them: in samples of CPU time and of allocations, mixed
# with native functions, each with its line.
#
#   NODES="/opt/node-22/bin/node …"  try these (node, or nodejs)
. "$(dirname "$0")/agent.inc"
have awk
source=test/programs/shape.js

# line COMMENT: where it stands in the program.
line() {
	grep -nE "// $1\$" "$source" | cut -d: -f1
}

# frame FUNCTION COMMENT: how it is shown there, as a pattern.
frame() {
	echo "$(sed -E 's/[().]/[&]/g' <<<"$1") [(]shape.js:$(line "$2")[)]"
}

# seen WHAT PATTERN [AT_LEAST]: that there are so many samples of such stacks in $work/stacks.
seen() {
	got=$(samples "$2" <"$work/stacks")
	[ "$got" -ge "${3:-1}" ] || fail "$node: $1: $got samples of $2: $(head -c 4000 "$work/stacks")"
}

stacks() {
	"$agent" collapsed --lines "$@" "$work/out" >"$work/stacks" || fail "$node: no stacks"
}

# burns FUNCTION COMMENT [AT_LEAST]: called where COMMENT is.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");(.*;)?burn [(]shape.js:[0-9]+[)]" "${3:-10}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off NATIVE_MEM=64k \
		"$node" "$source" 2>"$work/err") || fail "$node: status $?: $(cat "$work/err")"
	[ "$out" = "ok 210" ] || fail "$node: its output is: $out"
	[ ! -s "$work/err" ] || fail "$node: on standard error: $(cat "$work/err")"

	stacks --cpu
	# What burns is called by who calls it, all the way.
	all=$(samples '(^|;)burn ' <"$work/stacks")
	[ "$all" -ge 200 ] || fail "$node: $all samples: $(head -c 4000 "$work/stacks")"
	callers='three|one|deeper|sell|counts|fetches|[(]anonymous[)]|works|made_[0-9]+|main'
	whole=$(samples "(^|;)($callers) [(](shape|made).js:[0-9]+[)];(\[V8\];|Builtins_[^;]*;)*burn " <"$work/stacks")
	[ $((whole * 100)) -ge $((all * 99)) ] ||
		fail "$node: $whole of $all have a caller: $(grep -E '(^|;)burn ' "$work/stacks" | head -c 4000)"

	within 35 3 "$(awk -v t="$(samples '(^|;)three ' <"$work/stacks")" \
		-v o="$(samples '(^|;)one ' <"$work/stacks")" 'BEGIN { print o ? t / o : 0 }')" \
		"$node: three to one"
	burns three 'three burns' 30
	burns one 'one burns'
	burns deeper 'at the bottom'
	burns sell sells
	burns counts counts
	burns fetches fetches
	burns fetches 'fetches later'
	burns works works
	seen serves "$(frame serves serves);(.*;)?$(frame fetches fetches);" 10
	# A function of V8's own that calls back stands between.
	seen sort ';sorts [(]shape.js:[0-9]+[)];(.*;)?sort;(.*;)?'"$(frame '(anonymous)' compares)"';' 10

	# Sixty calls deep, and every one of them is there.
	deep=$(awk -v pattern="^$(frame deeper 'goes deeper')\$" '/deeper/ {
		n = split($0, frames, ";"); count = 0
		for (i = 1; i <= n; i++) count += frames[i] ~ pattern
		print count }' "$work/stacks" | sort -n | tail -n 1)
	[ "$deep" = 60 ] || fail "$node: $deep calls deep"

	# Each function that was made and forgotten has its own name and line.
	made=$(grep -oE ';made [(]shape.js:[0-9]+[)];(.*;)?made_[0-9]+ [(]made.js:3[)];' "$work/stacks" |
		grep -oE 'made_[0-9]+' | sort -u | wc -l)
	[ "$made" -ge 5 ] || fail "$node: $made of 50 functions that were made: $(head -c 4000 "$work/stacks")"
	wrong=$(grep -oE '(^|;)(three|one|deeper|sell|counts|sorts|hoards|works) [(][^)]*' "$work/stacks" |
		grep -v 'shape.js:[0-9]' | sort -u)
	[ -z "$wrong" ] || fail "$node: in another file: $wrong"

	# What is V8's own beside functions is shown where that is asked for, and so is either kind of frames alone.
	# (A function that is compiled when it is first called stands in no stack yet.)
	grep -E '[.]js:[0-9]+[)]' "$work/stacks" | grep -E '\[V8\]|Builtins_' >"$work/own" &&
		fail "$node: V8's own code: $(head -n 5 "$work/own")"
	stacks --cpu --frames all
	seen all '(\[V8\]|Builtins_[^;]*|libnode[^;]*[+]0x[0-9a-f]+);(.*;)?three [(]'
	stacks --cpu --frames script
	seen script '^([^;]* [(][^;]*[)];)*([^;]*;)?([^;]* [(][^;]*[)];)*three [(]'
	[ "$(samples '^_start;.*three [(]' <"$work/stacks")" = 0 ] || fail "$node: native frames: $(head -c 4000 "$work/stacks")"
	stacks --cpu --frames native
	seen native 'node::'
	[ "$(samples 'shape.js' <"$work/stacks")" = 0 ] || fail "$node: functions: $(head -c 4000 "$work/stacks")"

	# Memory that functions allocate outside of V8's heap is theirs, too.
	"$agent" leaks --lines -n 1 --stack-depth 99 "$work/out" >"$work/leaks" || fail "$node: no leaks"
	grep -qE "^ *$(frame hoards hoards) \[programs/shape.js\]" "$work/leaks" ||
		fail "$node: what leaks is not named: $(cat "$work/leaks")"
}

[ -n "${NODES-}" ] || NODES=$(command -v node || command -v nodejs) || skip "node is not installed"
for node in $NODES; do
	have "$node"
	case $("$node" --version) in
	v18.*) [ "$("$node" -p 'process.versions.v8.split(".", 2).join()')" = 10,2 ] || skip "another V8" ;;
	v20.* | v22.* | v24.*) ;;
	*) skip "$("$node" --version) is not known" ;;
	esac
	try
done

# V8 as it is, where that is asked for.
rm -rf "$work/out"
profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off FRAMES=native "$node" "$source" \
	>/dev/null || fail "status $?"
stacks --cpu
[ "$(samples shape.js <"$work/stacks")" = 0 ] || fail "frames of JavaScript: $(head -c 4000 "$work/stacks")"
