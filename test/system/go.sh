#!/bin/bash
# Stacks of a Go program that is linked with C: through assembler functions without frames, from Go to C, back to Go
# and to C again. They use Go's own table for unwinding and names, which strip does not remove.
. "$(dirname "$0")/agent.inc"
have go "${CC:-cc}"
[ "$(uname -m)" = x86_64 ] || skip "Go's stacks are followed on x86-64 alone"
export GO111MODULE=off CGO_ENABLED=1 GOFLAGS=

# seen WHAT PATTERN [AT_LEAST]: check that $work/stacks has so many samples of such stacks.
seen() {
	got=$(samples "$2" <"$work/stacks")
	[ "$got" -ge "${3:-1}" ] || fail "$flags: $1: $got samples of $2: $(head -c 6000 "$work/stacks")"
}

# whole PERCENT PATTERN BEGINNING: so many of the samples with PATTERN begin with BEGINNING.
whole() {
	all=$(samples "$2" <"$work/stacks")
	good=$(grep -E "$2" "$work/stacks" | samples "$3")
	[ "$all" -ge 20 ] || fail "$flags: $all samples of $2: $(head -c 6000 "$work/stacks")"
	[ $((good * 100)) -ge $((all * $1)) ] ||
		fail "$flags: $good of $all samples of $2 begin with $3: $(grep -E "$2" "$work/stacks" | head -c 6000)"
}

try() {
	flags=$*
	go build "$@" -o "$work/goes" test/programs/goes.go >"$work/err" 2>&1 || {
		grep -qE 'gcc|cannot find|not supported' "$work/err" && skip "go cannot link with C here: $(head -n 3 "$work/err")"
		fail "go build: $(cat "$work/err")"
	}
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin START_DELAY=500ms CPU_INTERVAL=1ms WALL_INTERVAL=off "$work/goes" 2>"$work/err") ||
		fail "$flags: status $?: $(cat "$work/err")"
	[ "$out" = "done" ] || fail "$flags: its output is: $out"
	[ ! -s "$work/err" ] || fail "$flags: on standard error: $(cat "$work/err")"
	"$agent" collapsed --cpu --frames all "$work/out" >"$work/stacks" || fail "$flags: no stacks"

	main='^runtime[.]goexit([.]abi0)?;runtime[.]main;main[.]main;'
	goroutine='^runtime[.]goexit([.]abi0)?;main[.]main[.]func[^;]*;'
	whole 99 'main[.]three;main[.]burn' "$goroutine"
	whole 99 'main[.]one;main[.]burn' "$goroutine"
	whole 98 'runtime[.]memmove' "${main}main[.]copies;runtime[.]memmove"
	deep=$(printf 'main[.]deeper;%.0s' {1..21})
	whole 99 'main[.]deeper.*main[.]burn' "$main${deep}main[.]burn"
	# From Go to C and back, and to C again.
	back='main[.]callsC;(.*;)?runtime[.]asmcgocall[^;]*;([^;]*;)?'"$in_c"';(.*;)?crosscall2;runtime[.]cgocallback[^;]*;(.*;)?main[.]backInGo;'
	whole 98 'main[.]backInGo.*;main[.]burn' "$main$back"
	[ "$in_c" != calls_go ] ||
		whole 98 ';burns_in_c' "$main$back.*runtime[.]asmcgocall[^;]*;([^;]*;)?burns_in_c"
}

in_c=calls_go
try
# The C functions have lost their names there.
in_c='goes[+]0x[0-9a-f]+'
try '-ldflags=-s -w'
