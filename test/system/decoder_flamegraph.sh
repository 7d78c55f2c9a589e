#!/bin/sh
# The flame graph in a browser: a frame is clicked, a search typed, keys pressed, and the page looked
# at; a difference, and 100,000 frames. Needs Chromium and node (packages chromium, nodejs).
set -u
agent=${B:-build}/asprof-agent
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	echo 'no Chromium on this machine'
	exit 77
}
command -v node >/dev/null || {
	echo 'no node on this machine'
	exit 77
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
"$agent" flamegraph test/fixtures/jfr/native.jfr -o "$tmp/flame.html" || exit 1
grep -Eq '(src|href)=|https?://' "$tmp/flame.html" && {
	echo 'the page names something outside of itself'
	exit 1
}
# The first chunk beside the whole: a chunk's size stands at its eighth byte.
chunks=test/fixtures/jfr/chunks.jfr
size=$(od -An -tu1 -j8 -N8 $chunks | awk '{ for (i = 1; i <= NF; i++) n = n * 256 + $i; print n }')
head -c "$size" $chunks >"$tmp/first.jfr"
"$agent" flamegraph --cpu "$tmp/first.jfr" --base $chunks \
	-o "$tmp/base.html" || exit 1
"${B:-build}/test/bench/decoder_frames" "$tmp/frames.jfr" 130000 &&
	"$agent" flamegraph "$tmp/frames.jfr" -o "$tmp/big.html" || exit 1
BASE_PAGE=$tmp/base.html BIG_PAGE=$tmp/big.html HOME=$tmp node test/system/flamegraph.js "$browser" "$tmp/flame.html" "$tmp/profile"
