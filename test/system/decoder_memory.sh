#!/bin/sh
# The memory of the reading commands is bounded for any size: for recordings of malloc and free events, normal ones
# and one in which no allocation is freed. MEMORY_MB (12) is their size.
. "$(dirname "$0")/agent.inc"
have /usr/bin/time

# bounded WORDS... : in kB, including resident pages of the file.
bounded() {
	/usr/bin/time -q -o "$work/peak" -f %M "$agent" "$@" >"$work/out" || fail "$*: status $?"
	echo "$1 $2: $(cat "$work/peak") kB"
	[ -s "$work/out" ] || fail "$*: prints nothing"
	[ "$(cat "$work/peak")" -lt 65536 ] || fail "$*: that is too much"
}

for kept in 1 100; do
	"$B/test/bench/decoder_data" test/fixtures/jfr/native.jfr "$work/big.jfr" \
		"${MEMORY_MB:-12}" $kept || exit 1
	for words in 'collapsed --alloc' 'collapsed --leak' 'collapsed --live --raw --total' \
		'top --live' 'leaks --raw --json' 'lifetimes --json'; do
		# shellcheck disable=SC2086 # words on purpose
		bounded $words "$work/big.jfr"
	done
	# Both ways to find live allocations, over all parts, have the same result.
	live=$("$agent" collapsed --live --raw --total "$work/big.jfr" | awk '{ n += $NF } END { printf "%.0f", n }')
	leaks=$("$agent" leaks --raw --json "$work/big.jfr" | sed 's/^{"bytes":\([0-9]*\).*/\1/')
	[ "$live" = "$leaks" ] || fail "$live bytes live, $leaks leak"
done
