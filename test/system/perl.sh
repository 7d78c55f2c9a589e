#!/bin/bash
# Perl functions are in the stacks where the interpreter runs them, between native functions and with their lines: in
# samples of CPU time, wall-clock time and allocations.
#
#   PERLS="/usr/bin/perl …"  these interpreters (default: perl)
. "$(dirname "$0")/frames.inc"
export comment='#'
source=test/programs/shape.pl
all_frames

# frame FUNCTION COMMENT: its form in a stack, as a pattern.
frame() {
	name=${1//\{/[{]}
	echo "${name//\}/[\}]} [(]shape.pl:$(line "$2")[)]"
}

# burns FUNCTION COMMENT [AT_LEAST]: it is called at COMMENT.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");main::burn [(]shape.pl:[0-9]+[)]" "${3:-20}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=20ms NATIVE_MEM=64k \
		"$tried" "$source" 0.3 2>"$work/err") || fail "$tried: status $?: $(cat "$work/err")"
	[ "$out" = "ok 20" ] || fail "$tried: its output is: $out"
	[ ! -s "$work/err" ] || fail "$tried: on standard error: $(cat "$work/err")"

	stacks --cpu
	all=$(samples '::burn ' <"$work/stacks")
	# (Time while the program is parsed, and while it is freed at its end, counts for no function.)
	grep -vE 'perl_parse|perl_destruct' "$work/stacks" >"$work/run"
	left=$(samples 'Perl_runops_standard|\[unknown\]|\[frame table' <"$work/run")
	[ $((left * 100)) -le "$all" ] || fail "$tried: $left of $all samples without: $(
		grep -E 'Perl_runops_standard|\[unknown\]|\[frame table' "$work/run")"
	orphans=$(samples '(^|;)[^;(]*;main::burn ' <"$work/stacks")
	[ "$orphans" = 0 ] || fail "$tried: burn without who called it: $orphans"

	three_to_one 35 'main::'
	burns main::three 'three burns' 100
	burns main::one 'one burns'
	burns main::deeper 'at the bottom'
	burns Shop::Counter::sell sells
	burns Shop::Counter::DESTROY 'clears up'
	burns Shop::Counter::__ANON__ adds
	burns main::__ANON__ 'in a closure'
	burns main::guards 'in an eval'
	seen eval "made_[0-9]+::burns [(][(]eval [0-9]+[)]:1[)];main::burn " 20

	# Native code that Perl calls, and that calls Perl, is between them.
	seen main "^_start;.*;perl_run;$(frame '{main}' 'three burns' | sed 's/:.*/:/')" 100
	seen 'sort by block' "$(frame '{main}' 'sorts by block');([^;{]+;)+[{]block[}] [(]shape.pl:$(line 'sorts by block')[)];$(
		frame main::compares compares);" 20
	seen 'sort by name' "([^;{]+;)+$(frame main::by_number 'sorts by sub');$(frame main::compares compares);" 20
	seen overload "Perl_amagic_call;$(frame Shop::Counter::__ANON__ adds);" 20
	seen destroy "Perl_call_sv;$(frame Shop::Counter::DESTROY 'clears up');" 20
	if "$tried" -MConfig -e 'exit !$Config{useithreads}' && "$tried" -Mthreads -e 0 2>/dev/null; then
		seen thread "^[^{]*;Perl_call_sv;$(frame main::__ANON__ 'in a thread');main::burn " 20
	fi

	# A recursion of sixty calls has sixty frames.
	sixty_deep main::deeper

	# Each function has only its own lines.
	first=$(line 'burn begins') last=$(line 'burn ends')
	wrong=$(grep -oE '(^|;)main::burn [(]shape.pl:[0-9]+' "$work/stacks" | grep -oE '[0-9]+$' |
		awk -v first="$first" -v last="$last" '$1 < first || $1 > last' | sort -u)
	[ -z "$wrong" ] || fail "$tried: burn has no lines $wrong"

	# By default, operations count for the function that executes them.
	"$agent" top -n 3 "$work/out" >"$work/top" || fail "$tried: no table"
	! grep -q Perl_pp_ "$work/top" || fail "$tried: operations: $(cat "$work/top")"

	stacks --wall
	seen nap "$(frame '{main}' naps);"

	"$agent" leaks --lines -n 1 "$work/out" >"$work/leaks" || fail "$tried: no leaks"
	grep -qE "^ *$(frame main::hoards hoards) \[programs/shape.pl\]" "$work/leaks" ||
		fail "$tried: what leaks is not named: $(cat "$work/leaks")"
}

for tried in ${PERLS:-perl}; do
	have "$tried"
	"$tried" -e 'exit($] < 5.032)' || skip "$("$tried" -v | sed -n 2p) has no such frames"
	again try
done

# The interpreter's C functions only, on request.
as_it_is Perl_runops_standard "$tried" "$source"
