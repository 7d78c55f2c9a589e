#!/bin/sh
# The timeline in a browser, used with mouse and keyboard: lanes, states, ranges and their flame graphs, stacks, marks,
# links and hostile names. Needs Chromium and node (packages chromium, nodejs).
. "$(dirname "$0")/agent.inc"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'Chromium is not on this machine'
have node
data=test/fixtures/jfr
"$agent" timeline $data/java.jfr -o "$work/java.html" || exit 1
grep -Eq '(src|href)=|https?://' "$work/java.html" && fail 'the page names something outside of itself'
sed 's/"marks_cut":0}/"marks_cut":1234}/' "$work/java.html" >"$work/cut.html"
"$agent" timeline --cpu $data/chunks.jfr -o "$work/cpu.html" || exit 1
"$agent" timeline --alloc $data/native.jfr -o "$work/alloc.html" || exit 1
"$agent" timeline --live $data/native.jfr -o "$work/live.html" 2>/dev/null
[ $? = 2 ] || fail '--live is accepted'
# Names that end the script, times that go backwards, a lock, and a thread that is never sampled again.
{
	for second in 9 1 5 5 3; do
		printf '</script><script>alert(1)</script> 7/8 %d.%d00000: cycles: \n\t7f <img src=x onerror=alert(2)> (/lib)\n\n' $second $second
	done
	printf 'late 7/9 2000000000.0: cycles: \n\t7f </style> (/lib)\n\n'
} >"$work/hostile.txt"
"$agent" timeline "$work/hostile.txt" -o "$work/hostile.html" || exit 1
# More lanes than a canvas could have.
awk 'BEGIN { for (i = 1; i <= 20000; i++) printf "t%d 1/%d %d.5: cycles: \n\t7f f (/x)\n\n", i, i, i }' >"$work/many.txt"
"$agent" timeline "$work/many.txt" -o "$work/many.html" || exit 1
# States that the recording has.
waits=$(program wait_causes)
mkdir "$work/out"
profiled "$work/out" builtin WALL_INTERVAL=10ms FORK=off EXIT_TIMEOUT=30s timeout 100 "$waits" 1 "$work" 1 >/dev/null ||
	fail "wait_causes: status $?"
"$agent" timeline "$work"/out/*.jfr -o "$work/recorded.html" || exit 1
"$agent" timeline --blocked-by "$work"/out/*.jfr -o "$work/blocked.html" || exit 1
"$agent" heatmap --blocked-by "$work"/out/*.jfr -o "$work/heat.html" || exit 1
HOME=$work node test/system/timeline.js "$browser" "$work"
