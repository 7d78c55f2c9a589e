#!/bin/bash
# Samples of a Go program have the labels of their goroutine, and inlined functions, with and without C, in each kind
# of executable.
. "$(dirname "$0")/agent.inc"
have go "${CC:-cc}"
[ "$(uname -m)" = x86_64 ] || skip "labels of goroutines are read on x86-64 alone"
export GO111MODULE=off GOFLAGS=

# count LABEL...: samples of burn() with these labels.
count() {
	"$agent" collapsed --cpu "$@" "$work/out" 2>"$work/said" | samples 'main[.]burn'
}

# has_labels WHAT CGO FLAG...: the program that is built like this.
has_labels() {
	local what=$1 cgo=$2 all pay list inlined
	shift 2
	mkdir -p "$work/src"
	cp test/programs/labels.go "$work/src/labels.go"
	[ "$cgo" = 0 ] || sed -i 's/^import (/import "C"\n\n&/' "$work/src/labels.go"
	CGO_ENABLED=$cgo go build "$@" -o "$work/labels" "$work/src/labels.go" >"$work/err" 2>&1 || {
		grep -qE 'gcc|cannot find|not supported' "$work/err" || fail "go build: $(cat "$work/err")"
		echo "$what is left out: $(head -n 3 "$work/err")"
		return
	}
	rm -rf "$work/out"
	"$agent" run -o "$work/out" --cpu 2ms --wall off -- "$work/labels" >"$work/text" 2>"$work/err" ||
		fail "$what: status $?: $(cat "$work/err")"
	grep -qx "done" "$work/text" || fail "$what: its output is: $(cat "$work/text")"
	all=$(count) pay=$(count --label route=/pay) list=$(count --label route=/list)
	[ "$all" -ge 50 ] || fail "$what: $all samples of burn"
	inlined=$("$agent" collapsed --cpu "$work/out" | samples 'main[.]burn;main[.]step;main[.]mix$')
	[ $((inlined * 5)) -ge "$all" ] || fail "$what: $inlined of $all samples are in the inlined function"
	# Of five parts, three are of /pay and one is of /list.
	[ $((pay * 100)) -ge $((all * 45)) ] && [ $((pay * 100)) -le $((all * 75)) ] &&
		[ $((list * 100)) -ge $((all * 10)) ] && [ $((list * 100)) -le $((all * 32)) ] ||
		fail "$what: of $all samples $pay are of /pay, and $list of /list"
	[ "$(count --label 'tenant=a=b ')" = $((pay + list)) ] || fail "$what: the second label is wrong"
	[ "$(count --label 'long=xx')" = 0 ] || fail "$what: a label is cut"
}

has_labels static 0
has_labels stripped 0 '-ldflags=-s -w'
has_labels pie 0 -buildmode=pie
has_labels cgo 1
has_labels "cgo, stripped" 1 '-ldflags=-s -w'
has_labels "cgo, pie" 1 -buildmode=pie
has_labels "cgo, static" 1 '-ldflags=-linkmode external -extldflags -static'
