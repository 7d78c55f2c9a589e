#!/bin/sh
# The flame graph in a browser: a frame is clicked, a search typed, keys pressed, and the page looked
# at; a difference, and 100,000 frames. Needs Chromium and node (packages chromium, nodejs).
. "$(dirname "$0")/agent.inc"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'Chromium is not on this machine'
have node
"$agent" flamegraph test/fixtures/jfr/native.jfr -o "$work/flame.html" || exit 1
grep -Eq '(src|href)=|https?://' "$work/flame.html" && fail 'the page names something outside of itself'
# The first chunk beside the whole: a chunk's size stands at its eighth byte.
chunks=test/fixtures/jfr/chunks.jfr
size=$(od -An -tu1 -j8 -N8 $chunks | awk '{ for (i = 1; i <= NF; i++) n = n * 256 + $i; print n }')
head -c "$size" $chunks >"$work/first.jfr"
"$agent" flamegraph --cpu "$work/first.jfr" --base $chunks \
	-o "$work/base.html" || exit 1
"$agent" flamegraph --cpu test/fixtures/jfr/java.jfr --base test/fixtures/jfr/native.jfr \
	-o "$work/vanished.html" || exit 1
"$B/test/bench/decoder_frames" "$work/frames.jfr" 130000 &&
	"$agent" flamegraph "$work/frames.jfr" -o "$work/big.html" || exit 1
BASE_PAGE=$work/base.html VANISHED_PAGE=$work/vanished.html BIG_PAGE=$work/big.html HOME=$work node test/system/flamegraph.js "$browser" "$work/flame.html" "$work/profile"
