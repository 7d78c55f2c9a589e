#!/bin/sh
# The flame graph in a browser, used with mouse and keyboard: boxes, search, table, filters, links, themes, differences,
# names that look like HTML, and 100,000 frames. Needs Chromium and node (packages chromium, nodejs).
. "$(dirname "$0")/agent.inc"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'Chromium is not on this machine'
have node python3
data=test/fixtures/jfr
"$agent" flamegraph $data/native.jfr -o "$work/plain.html" || exit 1
grep -Eq '(src|href)=|https?://' "$work/plain.html" && fail 'the page names something outside of itself'
# The first chunk compared with the whole: a chunk's size is at its eighth byte.
size=$(od -An -tu1 -j8 -N8 $data/chunks.jfr | awk '{ for (i = 1; i <= NF; i++) n = n * 256 + $i; print n }')
head -c "$size" $data/chunks.jfr >"$work/first.jfr"
"$agent" flamegraph --cpu "$work/first.jfr" --base $data/chunks.jfr -o "$work/base.html" || exit 1
"$agent" flamegraph --cpu $data/java.jfr --base $data/native.jfr -o "$work/vanished.html" || exit 1
"$B/test/bench/decoder_frames" "$work/frames.jfr" 130000 &&
	"$agent" flamegraph "$work/frames.jfr" -o "$work/big.html" || exit 1
# Recordings of two hosts, and one whose names are HTML.
python3 - "$work" $data <<'END' || exit 1
import sys, zipfile
work, data = sys.argv[1:]
for host, name in ("one", "native"), ("two", "java"):
    with zipfile.ZipFile(f"{work}/profile_group_unknown___4711_2026-11-21T02-30-0{len(name)}Z.zip", "w") as z:
        z.write(f"{data}/{name}.jfr", f"{name}_{len(name)}_1.jfr")
        z.writestr("metadata.json", '{"agent": {"hostname": "%s", "tags": {"host": "%s"}}}' % (host, host))
whole = open(f"{data}/native.jfr", "rb").read()
evil = b"</script><b id=owned"
assert len(evil) == len(b"thread_start_wrapper") and b"thread_start_wrapper" in whole
open(f"{work}/hostile.jfr", "wb").write(whole.replace(b"thread_start_wrapper", evil))
END
"$agent" flamegraph "$work"/profile*.zip -o "$work/labels.html" || exit 1
"$agent" flamegraph "$work/hostile.jfr" --title '</title></script><b id=owned><script>owned = 1</script>' \
	-o "$work/hostile.html" || exit 1
# Wall-clock samples have states.
"$agent" flamegraph --wall $data/native.jfr -o "$work/wall.html" || exit 1
# Small frames are merged, and the page says so.
"$agent" flamegraph --min 10% $data/java.jfr -o "$work/merged.html" || exit 1
grep -q 'Frames below 10% are merged into \[small frames\]' "$work/merged.html" || fail 'no notice of merged frames'
HOME=$work node test/system/flamegraph.js "$browser" "$work"
