#!/bin/sh
# The heatmap in a browser, used with mouse and keyboard: counts, ranges and their flame graphs, comparison, links, filters,
# and hostile times. Its counts equal those of async-profiler's converter, if ASPROF_TEST_LIB names a library with one.
# Needs Chromium and node (packages chromium, nodejs).
. "$(dirname "$0")/agent.inc"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'Chromium is not on this machine'
have node
data=test/fixtures/jfr
"$agent" heatmap $data/native.jfr -o "$work/plain.html" || exit 1
grep -Eq '(src|href)=|https?://' "$work/plain.html" && fail 'the page names something outside of itself'
"$agent" heatmap --row 100ms --column 500ms $data/*.jfr -o "$work/coarse.html" || exit 1
"$agent" heatmap --live --total $data/native.jfr -o "$work/live.html" || exit 1
"$agent" heatmap --wall $data/java.jfr -o "$work/wall.html" || exit 1
for wrong in '--row 500us' '--row 30ms' '--column 10ms' '--row 1ms --column 2s'; do
	# shellcheck disable=SC2086 # words on purpose
	"$agent" heatmap $wrong $data/native.jfr -o "$work/wrong.html" 2>"$work/err" && fail "$wrong is accepted"
	grep -q 'heatmap: --row takes' "$work/err" || fail "$wrong: $(cat "$work/err")"
done
# A recording whose second chunk is from the year 2200: rows become longer, and the page says so.
"$B/test/bench/decoder_frames" "$work/far.jfr" 30000 || exit 1
size=$(od -An -tu1 -j8 -N8 "$work/far.jfr" | awk '{ for (i = 1; i <= NF; i++) n = n * 256 + $i; print n }')
printf '\144' | dd of="$work/far.jfr" bs=1 seek=$((size + 32)) conv=notrunc 2>/dev/null
"$agent" heatmap "$work/far.jfr" -o "$work/far.html" || exit 1
# Three samples in columns of less than a pixel.
for second in 100 500 1500; do printf 'one 7/7 %d.5: cycles: \n\t7f f (/x)\n\n' $second; done >"$work/sparse.txt"
"$agent" heatmap "$work/sparse.txt" -o "$work/sparse.html" || exit 1
# The converter's pages, and ours with a row for each millisecond.
converter=$(dirname "${ASPROF_TEST_LIB:-/}")/../bin/jfrconv
if [ -x "$converter" ]; then
	for metric in cpu wall lock; do
		"$agent" heatmap --$metric --row 1ms $data/java.jfr -o "$work/ours.$metric.html" &&
			"$converter" -o heatmap --$metric $data/java.jfr "$work/theirs.$metric.html" >/dev/null || exit 1
	done
fi
HOME=$work node test/system/heatmap.js "$browser" "$work"
