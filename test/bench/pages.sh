#!/bin/sh
# Flame graph and heatmap compared with async-profiler's converter, alternating: size of the page, time to write it, and
# time until Chromium shows it. Each is the best of three. Recordings: one of Java, and one of 800,000 different frames in
# 84,000 stacks. The converter is at bin/jfrconv of the library that ASPROF_TEST_LIB names.
#
#   PAGES_FRAMES=800000     number of frames
#   PAGES_FILES='a.jfr …'   other recordings
set -u
. "$(dirname "$0")/../system/agent.inc"
converter=$(dirname "${ASPROF_TEST_LIB:-/}")/../bin/jfrconv
[ -x "$converter" ] || skip 'ASPROF_TEST_LIB names no library with bin/jfrconv'
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'Chromium is not on this machine'
have node /usr/bin/time

"$B/test/bench/decoder_frames" "$work/frames.jfr" "${PAGES_FRAMES:-800000}" || exit 1

# write NAME COMMAND... : adds the seconds of COMMAND to NAME.time
write() {
	name=$1
	shift
	/usr/bin/time -a -o "$work/$name.time" -f %e "$@" >/dev/null || exit 1
}

for file in ${PAGES_FILES:-test/fixtures/jfr/java.jfr "$work/frames.jfr"}; do
	for page in flamegraph heatmap; do
		format=$([ $page = heatmap ] && echo heatmap || echo html)
		rm -f "$work"/*.time
		for _ in 1 2 3; do
			write ours "$agent" $page --cpu "$file" -o "$work/ours.html"
			write theirs "$converter" --cpu -o "$format" "$file" "$work/theirs.html"
		done
		HOME=$work node test/bench/pages.js "$browser" "$work/profile" "$work/ours.html" "$work/theirs.html" >"$work/shown" ||
			fail "$(cat "$work/shown")"
		for name in ours theirs; do
			printf '%-12s %-10s %-9s %8.1f kB, written in %s s, shown in %s s\n' "$(basename "$file")" $page \
				"$([ $name = ours ] && echo ours || echo converter)" \
				"$(awk "BEGIN { print $(wc -c <"$work/$name.html") / 1000 }")" \
				"$(sort -n "$work/$name.time" | head -n 1)" "$(awk -v n=$name '$1 == n { print $2 }' "$work/shown")"
		done
	done
done
