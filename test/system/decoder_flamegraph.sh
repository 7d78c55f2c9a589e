#!/bin/sh
# The flame graph in a browser: a frame is clicked, a search typed, keys pressed, and the page looked
# at. Needs Chromium and node (packages chromium, nodejs).
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
HOME=$tmp node test/system/flamegraph.js "$browser" "$tmp/flame.html" "$tmp/profile"
