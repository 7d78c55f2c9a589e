#!/bin/bash
# Java without async-profiler: all Java frames between two native functions are one frame, [Java], and the stacks are
# complete. Tested with the interpreter only, with the compilers only, and with both.
. "$(dirname "$0")/agent.inc"
have java javac
[ "$(uname -m)" = x86_64 ] || skip "Java's stacks are left on x86-64 alone"
javac -d "$work" test/programs/TurnsAndDeflates.java || fail "javac"

# whole PATTERN ALL: 99 of 100 samples with PATTERN match ALL.
whole() {
	all=$(samples "$1" <"$work/stacks")
	good=$(samples "$2" <"$work/stacks")
	[ "$all" -ge 20 ] || fail "$how: $all samples of $1: $(head -c 4000 "$work/stacks")"
	[ $((good * 100)) -ge $((all * 99)) ] ||
		fail "$how: $good of $all samples of $1 are $2: $(cut -c1-600 "$work/stacks" | head -n 20)"
}

try() {
	how=$*
	rm -rf "$work/out"
	profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off PROCESS=java \
		java "$@" -cp "$work" TurnsAndDeflates >"$work/said" 2>"$work/err" ||
		fail "$how: status $?: $(cat "$work/said" "$work/err")"
	[ "$(cat "$work/said")" = "done" ] || fail "$how: $(cat "$work/said")"
	[ ! -s "$work/err" ] || fail "$how: $(cat "$work/err")"
	"$agent" collapsed --cpu --frames all "$work/out" >"$work/stacks" || fail "$how: no samples"

	# The callers of Java, from the thread's entry on.
	main='^[^[;]+;([^;]+;)+'
	whole '\[Java\]$' "$main"'\[Java\]$'
	whole ';Java_java_util_zip_Deflater_deflateBytesBytes(;|$)' \
		"$main"'\[Java\];Java_java_util_zip_Deflater_deflateBytesBytes(;|$)'
	[ "$(samples '\[Java\];\[Java\]' <"$work/stacks")" = 0 ] || fail "$how: more than one frame: $(head -c 4000 "$work/stacks")"
	all=$(samples . <"$work/stacks") lost=$(samples 'unknown callers|(^|;)0x[0-9a-f]+(;|$)' <"$work/stacks")
	[ $((lost * 20)) -le "$all" ] || fail "$how: $lost of $all samples are lost: $(grep -E 'unknown callers|0x' "$work/stacks" | head)"
}

try -XX:+TieredCompilation
try -XX:-TieredCompilation
try -Xint

"$agent" summary "$work/out" | grep -q "^Java .*\[Java\].*asprof-agent-java" || fail "no hint: $("$agent" summary "$work/out")"
"$agent" summary --json "$work/out" | grep -q '"java_unnamed":true' || fail "no hint: $("$agent" summary --json "$work/out")"
"$agent" top -n 1 "$work/out" | grep -q "^\[Java\] .*make java-package" || fail "no hint: $("$agent" top -n 1 "$work/out")"
