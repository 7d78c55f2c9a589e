#!/bin/bash
# Functions of Perl stand where its interpreter runs: in samples of CPU time, of the wall and of allocations,
# mixed with native functions, each with its line.
#
#   PERLS="/usr/bin/perl …"  try these interpreters (perl)
. "$(dirname "$0")/agent.inc"
have awk
source=test/programs/shape.pl

# line COMMENT: where it stands in the program.
line() {
	grep -nE "# $1\$" "$source" | cut -d: -f1
}

# frame FUNCTION COMMENT: how it is shown there, as a pattern.
frame() {
	name=${1//\{/[{]}
	echo "${name//\}/[\}]} [(]shape.pl:$(line "$2")[)]"
}

# seen WHAT PATTERN [AT_LEAST]: that there are so many samples of such stacks in $work/stacks.
seen() {
	got=$(samples "$2" <"$work/stacks")
	[ "$got" -ge "${3:-1}" ] || fail "$perl: $1: $got samples of $2: $(head -c 4000 "$work/stacks")"
}

stacks() {
	"$agent" collapsed --frames all --lines "$@" "$work/out" >"$work/stacks" || fail "$perl: no stacks"
}

# burns FUNCTION COMMENT [AT_LEAST]: called where COMMENT is.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");main::burn [(]shape.pl:[0-9]+[)]" "${3:-20}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=20ms NATIVE_MEM=64k \
		"$perl" "$source" 0.3 2>"$work/err") || fail "$perl: status $?: $(cat "$work/err")"
	[ "$out" = "ok 20" ] || fail "$perl: its output is: $out"
	[ ! -s "$work/err" ] || fail "$perl: on standard error: $(cat "$work/err")"

	stacks --cpu
	all=$(samples '::burn ' <"$work/stacks")
	left=$(samples 'Perl_runops_standard|\[unknown\]|\[frame table' <"$work/stacks")
	[ $((left * 100)) -le "$all" ] || fail "$perl: $left of $all samples without: $(
		grep -E 'Perl_runops_standard|\[unknown\]|\[frame table' "$work/stacks")"
	orphans=$(samples '(^|;)[^;(]*;main::burn ' <"$work/stacks")
	[ "$orphans" = 0 ] || fail "$perl: burn without who called it: $orphans"

	within 35 3 "$(awk -v t="$(samples '(^|;)main::three ' <"$work/stacks")" \
		-v o="$(samples '(^|;)main::one ' <"$work/stacks")" 'BEGIN { print o ? t / o : 0 }')" \
		"$perl: three to one"
	burns main::three 'three burns' 100
	burns main::one 'one burns'
	burns main::deeper 'at the bottom'
	burns Shop::Counter::sell sells
	burns Shop::Counter::DESTROY 'clears up'
	burns Shop::Counter::__ANON__ adds
	burns main::__ANON__ 'in a closure'
	burns main::guards 'in an eval'
	seen eval "made_[0-9]+::burns [(][(]eval [0-9]+[)]:1[)];main::burn " 20

	# Native code that Perl calls, and that calls Perl, stands between.
	seen main "^_start;.*;perl_run;$(frame '{main}' 'three burns' | sed 's/:.*/:/')" 100
	seen 'sort by block' "$(frame '{main}' 'sorts by block');([^;{]+;)+[{]block[}] [(]shape.pl:$(line 'sorts by block')[)];$(
		frame main::compares compares);" 20
	seen 'sort by name' "([^;{]+;)+$(frame main::by_number 'sorts by sub');$(frame main::compares compares);" 20
	seen overload "Perl_amagic_call;$(frame Shop::Counter::__ANON__ adds);" 20
	seen destroy "Perl_call_sv;$(frame Shop::Counter::DESTROY 'clears up');" 20
	if "$perl" -MConfig -e 'exit !$Config{useithreads}' && "$perl" -Mthreads -e 0 2>/dev/null; then
		seen thread "^[^{]*;Perl_call_sv;$(frame main::__ANON__ 'in a thread');main::burn " 20
	fi

	# Sixty calls deep, and every one of them is there.
	deep=$(awk -v pattern="^$(frame main::deeper 'goes deeper')\$" '/[(]shape.pl:'"$(line 'at the bottom')"'[)]/ {
		n = split($0, frames, ";"); count = 0
		for (i = 1; i <= n; i++) count += frames[i] ~ pattern
		print count }' "$work/stacks" | sort -n | uniq -c | sort -n | awk 'END { print $2 }')
	[ "$deep" = 60 ] || fail "$perl: $deep calls deep"

	# Each function has the lines of none else.
	first=$(line 'burn begins') last=$(line 'burn ends')
	wrong=$(grep -oE '(^|;)main::burn [(]shape.pl:[0-9]+' "$work/stacks" | grep -oE '[0-9]+$' |
		awk -v first="$first" -v last="$last" '$1 < first || $1 > last' | sort -u)
	[ -z "$wrong" ] || fail "$perl: burn has no lines $wrong"

	# By default its operations count to who carries them out.
	"$agent" top -n 3 "$work/out" >"$work/top" || fail "$perl: no table"
	! grep -q Perl_pp_ "$work/top" || fail "$perl: operations: $(cat "$work/top")"

	stacks --wall
	seen nap "$(frame '{main}' naps);"

	"$agent" leaks --lines -n 1 "$work/out" >"$work/leaks" || fail "$perl: no leaks"
	grep -qE "^ *$(frame main::hoards hoards) \[programs/shape.pl\]" "$work/leaks" ||
		fail "$perl: what leaks is not named: $(cat "$work/leaks")"
}

for perl in ${PERLS:-perl}; do
	have "$perl"
	"$perl" -e 'exit($] < 5.032)' || skip "$("$perl" -v | sed -n 2p) has no such frames"
	try
done

# The interpreter as it is, where that is asked for.
rm -rf "$work/out"
profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off FRAMES=native "$perl" "$source" \
	>/dev/null || fail "status $?"
stacks --cpu
seen native Perl_runops_standard 100
[ "$(samples shape.pl <"$work/stacks")" = 0 ] || fail "frames of Perl: $(head -c 4000 "$work/stacks")"
