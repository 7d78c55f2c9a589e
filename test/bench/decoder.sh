#!/bin/sh
# Compares the decoder with async-profiler's converter, in turns: for a recording of 300 kB, and one of 600 MB of
# malloc and free events, which is made here and then deleted. Wall time and CPU time are the best of three, memory is
# the peak of resident pages. The converter is in the same tree as ASPROF_TEST_LIB.
set -u
. "$(dirname "$0")/../system/agent.inc"
converter=$(dirname "${ASPROF_TEST_LIB:-/}")/../bin/jfrconv
[ -x "$converter" ] || skip 'ASPROF_TEST_LIB names no library with ../bin/jfrconv'
have /usr/bin/time

# once NAME COMMAND... : stores "seconds cpu-seconds kB"
once() {
	name=$1
	shift
	/usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" >/dev/null || exit 1
	awk '{ print $1, $2 + $3, $4 }' "$work/time" >>"$work/$name"
}
best() {
	awk '{ if (NR == 1 || $1 < s) s = $1; if (NR == 1 || $2 < c) c = $2; if ($3 > m) m = $3 }
		END { print s, c, m }' "$1"
}
# compare TITLE FILE OUR-SWITCHES THEIR-SWITCHES
compare() {
	rm -f "$work/ours" "$work/theirs"
	for _ in 1 2 3; do
		# shellcheck disable=SC2086 # words on purpose
		once ours "$agent" collapsed $3 "$2" -o "$work/ours.txt"
		# shellcheck disable=SC2086
		once theirs "$converter" $4 -o collapsed "$2" "$work/theirs.txt"
	done
	LC_ALL=C sort "$work/ours.txt" >"$work/a"
	LC_ALL=C sort "$work/theirs.txt" >"$work/b"
	same='output equal'
	cmp -s "$work/a" "$work/b" || same='OUTPUT DIFFERS'
	echo "$(best "$work/ours") $(best "$work/theirs")" | awk -v title="$1" -v same="$same" '
		function ratio(x, y) { return x > 0 ? y / x : y / .005 }
		{ printf "%-22s %6.2f s %6.2f s CPU %7d kB   converter %6.2f s %6.2f s CPU %8d kB\n",
			title, $1, $2, $3, $4, $5, $6
		  printf "%-22s %.1f times as fast (%.1f in CPU time), 1/%.0f of the memory, %s\n", "",
			ratio($1, $4), ratio($2, $5), $6 / $3, same }'
}

compare '300 kB, cpu' test/fixtures/jfr/native.jfr --cpu --cpu
compare '300 kB, nativemem' test/fixtures/jfr/native.jfr --nativemem --nativemem
"$B/test/bench/decoder_data" test/fixtures/jfr/native.jfr "$work/big.jfr" 600 || exit 1
compare '600 MB, nativemem' "$work/big.jfr" --nativemem --nativemem
compare '600 MB, leak' "$work/big.jfr" --leak '--nativemem --leak'
