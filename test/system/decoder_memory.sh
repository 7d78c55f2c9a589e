#!/bin/sh
# Memory of the reading commands has a bound whatever the size: recordings of malloc and free events,
# the usual ones and one where all that was allocated lives on. MEMORY_MB (12) is their size.
set -u
build=${B:-build}
agent=$build/asprof-agent
[ -x "$build/test/bench/decoder_data" ] || {
	echo 'no decoder_data (make check-system builds it)'
	exit 77
}
[ -x /usr/bin/time ] || {
	echo 'no /usr/bin/time (package time)'
	exit 77
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# bounded WORDS... : in kB, with what is resident of the file.
bounded() {
	/usr/bin/time -q -o "$tmp/peak" -f %M "$agent" "$@" >"$tmp/out" || failed=1
	if [ -s "$tmp/out" ] && [ "$(cat "$tmp/peak")" -lt 65536 ]; then
		echo "ok: $1 $2: $(cat "$tmp/peak") kB"
	else
		echo "FAIL: $*: $(cat "$tmp/peak") kB"
		failed=1
	fi
}

for kept in 1 100; do
	"$build/test/bench/decoder_data" test/fixtures/jfr/native.jfr "$tmp/big.jfr" \
		"${MEMORY_MB:-12}" $kept || exit 1
	for words in 'collapsed --alloc' 'collapsed --leak' 'collapsed --live --raw --total' \
		'top --live' 'leaks --raw --json' 'lifetimes --json'; do
		# shellcheck disable=SC2086 # words on purpose
		bounded $words "$tmp/big.jfr"
	done
	# Both ways of finding what lives, over all parts, come to the same.
	live=$("$agent" collapsed --live --raw --total "$tmp/big.jfr" | awk '{ n += $NF } END { printf "%.0f", n }')
	leaks=$("$agent" leaks --raw --json "$tmp/big.jfr" | sed 's/^{"bytes":\([0-9]*\).*/\1/')
	[ "$live" = "$leaks" ] || {
		echo "FAIL: $live bytes live, $leaks leak"
		failed=1
	}
done
exit $failed
