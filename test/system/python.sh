#!/bin/bash
# Python functions are in the stacks where the interpreter runs them, between native functions and with their lines:
# in samples of CPU time, wall-clock time and allocations.
#
#   PYTHONS="python3.8 …"  these interpreters (default: /usr/bin/python3)
. "$(dirname "$0")/frames.inc"
export comment='#'
source=test/programs/shape.py
all_frames

# frame FUNCTION COMMENT: its form in a stack, as a pattern. (Before 3.11 a function has no class.)
frame() {
	name=${1//[<>]/.}
	echo "$(sed -E 's/^([A-Z][a-z]*)\./(\1.)?/' <<<"$name") [(]shape.py:$(line "$2")[)]"
}

# burns FUNCTION COMMENT [AT_LEAST]: it is called at COMMENT.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");(.*;)?burn [(]shape.py:[0-9]+[)]" "${3:-20}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=20ms NATIVE_MEM=64k \
		"$tried" "$source" 2>"$work/err") || fail "$tried: status $?: $(cat "$work/err")"
	[ "$out" = "ok 200" ] || fail "$tried: its output is: $out"
	[ ! -s "$work/err" ] || fail "$tried: on standard error: $(cat "$work/err")"

	stacks --cpu
	all=$(samples . <"$work/stacks")
	left=$(samples '_PyEval_EvalFrameDefault|\[unknown\]|\[frame table' <"$work/stacks")
	[ $((left * 100)) -le "$all" ] || fail "$tried: $left of $all samples without: $(
		grep -E '_PyEval_EvalFrameDefault|\[unknown\]|\[frame table' "$work/stacks")"

	three_to_one 25
	burns three 'three burns' 100
	burns one 'one burns'
	burns deeper 'at the bottom'
	burns Shop.sell sells
	burns counts counts
	burns fetches fetches
	burns works works

	# A recursion of sixty calls has sixty frames, with native functions between them or without.
	sixty_deep deeper

	# Native code that Python calls, and that calls Python, is between them.
	main=';main [(]shape.py:[0-9]+[)];'
	seen key "${main}[^(]+;$(frame Shop.price 'asks the price');" 20
	seen generator "${main}[^(]+;$(frame counts counts);" 20
	seen coroutine "$(frame serves serves);.*$(frame fetches fetches);" 20
	if "$tried" -c 'import ctypes' 2>/dev/null; then
		seen callback \
			";$(frame sorts_in_c 'sorts in C');.*;qsort.*;$(frame compares compares);" 20
	fi

	# Each function that was created and dropped has its own name, and only its own lines.
	made=$(grep -oE ';made [(][^;]*;.*made_[0-9]+ [(]<?string>?:1[)];' "$work/stacks" |
		grep -oE 'made_[0-9]+' | sort -u | wc -l)
	[ "$made" -ge 5 ] || fail "$tried: $made of 50 functions that were made: $(head -c 4000 "$work/stacks")"
	last=$(line 'burn ends') first=$(grep -n '^def burn' "$source" | cut -d: -f1)
	wrong=$(grep -oE '(^|;)burn [(]shape.py:[0-9]+' "$work/stacks" | grep -oE '[0-9]+$' |
		awk -v first="$first" -v last="$last" '$1 < first || $1 > last' | sort -u)
	[ -z "$wrong" ] || fail "$tried: burn has no lines $wrong"

	stacks --wall
	seen nap "$(frame naps naps);"

	# Memory that Python allocates counts for its functions, too.
	"$agent" leaks --lines -n 1 "$work/out" >"$work/leaks" || fail "$tried: no leaks"
	grep -qE "^ *$(frame hoards hoards) \[programs/shape.py\]" "$work/leaks" ||
		fail "$tried: what leaks is not named: $(cat "$work/leaks")"
}

for tried in ${PYTHONS:-/usr/bin/python3}; do
	have "$tried"
	"$tried" -c 'import sys; sys.exit(sys.version_info < (3, 8))' ||
		skip "$("$tried" --version) has no such frames"
	again try
done

# The interpreter's C functions only, on request.
as_it_is _PyEval_EvalFrameDefault "$tried" "$source"
