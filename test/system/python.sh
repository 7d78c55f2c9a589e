#!/bin/bash
# Functions of Python stand where its interpreter runs: in samples of CPU time, of the wall and of
# allocations, mixed with native functions, each with its line.
#
#   PYTHONS="python3.8 …"  try these interpreters (/usr/bin/python3)
. "$(dirname "$0")/agent.inc"
have awk
source=test/programs/shape.py

# line COMMENT: where it stands in the program.
line() {
	grep -nF "# $1" "$source" | cut -d: -f1
}

# frame FUNCTION COMMENT: how it is shown there, as a pattern. (Before 3.11 a function has no class.)
frame() {
	name=${1//[<>]/.}
	echo "$(sed -E 's/^([A-Z][a-z]*)\./(\1.)?/' <<<"$name") [(]shape.py:$(line "$2")[)]"
}

# seen WHAT PATTERN [AT_LEAST]: that there are so many samples of such stacks in $work/stacks.
seen() {
	got=$(samples "$2" <"$work/stacks")
	[ "$got" -ge "${3:-1}" ] || fail "$python: $1: $got samples of $2: $(head -c 4000 "$work/stacks")"
}

stacks() {
	"$agent" collapsed --frames all --lines "$@" "$work/out" >"$work/stacks" || fail "$python: no stacks"
}

# burns FUNCTION COMMENT [AT_LEAST]: called where COMMENT is.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");(.*;)?burn [(]shape.py:[0-9]+[)]" "${3:-20}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=20ms NATIVE_MEM=64k \
		"$python" "$source" 2>"$work/err") || fail "$python: status $?: $(cat "$work/err")"
	[ "$out" = "ok 200" ] || fail "$python: its output is: $out"
	[ ! -s "$work/err" ] || fail "$python: on standard error: $(cat "$work/err")"

	stacks --cpu
	all=$(samples . <"$work/stacks")
	left=$(samples '_PyEval_EvalFrameDefault|\[unknown\]|\[frame table' <"$work/stacks")
	[ $((left * 100)) -le "$all" ] || fail "$python: $left of $all samples without: $(
		grep -E '_PyEval_EvalFrameDefault|\[unknown\]|\[frame table' "$work/stacks")"

	within 25 3 "$(awk -v t="$(samples '(^|;)three ' <"$work/stacks")" \
		-v o="$(samples '(^|;)one ' <"$work/stacks")" 'BEGIN { print o ? t / o : 0 }')" \
		"$python: three to one"
	burns three 'three burns' 100
	burns one 'one burns'
	burns deeper 'at the bottom'
	burns Shop.sell sells
	burns counts counts
	burns fetches fetches
	burns works works

	# Sixty calls deep, and every one of them is there, native functions between them or not.
	deep=$(awk -v pattern="^$(frame deeper 'goes deeper')\$" '/at the bottom/ || / [0-9]+$/ {
		n = split($0, frames, ";"); count = 0
		for (i = 1; i <= n; i++) count += frames[i] ~ pattern
		print count }' "$work/stacks" | sort -n | tail -n 1)
	[ "$deep" = 60 ] || fail "$python: $deep calls deep"

	# Native code that Python calls, and that calls Python, stands between.
	main=';main [(]shape.py:[0-9]+[)];'
	seen key "${main}[^(]+;$(frame Shop.price 'asks the price');" 20
	seen generator "${main}[^(]+;$(frame counts counts);" 20
	seen coroutine "$(frame serves serves);.*$(frame fetches fetches);" 20
	if "$python" -c 'import ctypes' 2>/dev/null; then
		seen callback \
			";$(frame sorts_in_c 'sorts in C');.*;qsort.*;$(frame compares compares);" 20
	fi

	# Each function that was made and forgotten has its own name, and the lines of none else.
	made=$(grep -oE ';made [(][^;]*;.*made_[0-9]+ [(]<?string>?:1[)];' "$work/stacks" |
		grep -oE 'made_[0-9]+' | sort -u | wc -l)
	[ "$made" -ge 5 ] || fail "$python: $made of 50 functions that were made: $(head -c 4000 "$work/stacks")"
	last=$(line 'burn ends') first=$(grep -n '^def burn' "$source" | cut -d: -f1)
	wrong=$(grep -oE '(^|;)burn [(]shape.py:[0-9]+' "$work/stacks" | grep -oE '[0-9]+$' |
		awk -v first="$first" -v last="$last" '$1 < first || $1 > last' | sort -u)
	[ -z "$wrong" ] || fail "$python: burn has no lines $wrong"

	stacks --wall
	seen nap "$(frame naps naps);"

	# Memory that Python allocates is its functions', too.
	"$agent" leaks --lines -n 1 "$work/out" >"$work/leaks" || fail "$python: no leaks"
	grep -qE "^ *$(frame hoards hoards) \[programs/shape.py\]" "$work/leaks" ||
		fail "$python: what leaks is not named: $(cat "$work/leaks")"
}

for python in ${PYTHONS:-/usr/bin/python3}; do
	have "$python"
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' ||
		skip "$("$python" --version) has no such frames"
	try
done

# The interpreter as it is, where that is asked for.
rm -rf "$work/out"
profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off FRAMES=native "$python" "$source" \
	>/dev/null || fail "status $?"
stacks --cpu
seen native _PyEval_EvalFrameDefault 100
[ "$(samples shape.py <"$work/stacks")" = 0 ] || fail "frames of Python: $(head -c 4000 "$work/stacks")"
