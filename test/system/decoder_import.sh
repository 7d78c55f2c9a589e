#!/bin/sh
# Files of other profilers give the same answers as the recording that they were made from.
. "$(dirname "$0")/agent.inc"

for name in java native; do
	recording=test/fixtures/jfr/$name.jfr
	for metric in cpu wall; do
		"$agent" collapsed --$metric --threads "$recording" >"$work/folded" || fail "$name: status $?"
		# Names of threads are cut.
		sed 's/^\[\([^;]\{0,15\}\)[^;]*\( tid=[0-9]*\]\);/[\1\2;/' "$work/folded" | tr -d ' ' >"$work/wanted"
		"$agent" collapsed --threads "$work/folded" | tr -d ' ' | cmp -s - "$work/wanted" ||
			fail "$name --$metric: folded stacks differ after import"
		"$agent" pprof --$metric "$recording" -o "$work/p.pb.gz" || fail "$name: pprof: status $?"
		# profile.proto has no types of frames.
		"$agent" collapsed --$metric "$recording" | sed 's/_\[.\]//g' | LC_ALL=C sort >"$work/wanted"
		"$agent" collapsed --$metric "$work/p.pb.gz" | sed 's/_\[.\]//g' | LC_ALL=C sort |
			cmp -s - "$work/wanted" || fail "$name --$metric: pprof differs after import"
	done
	# A file has one period, but may have both times.
	"$agent" pprof "$recording" -o "$work/p.pb.gz" || fail "$name: pprof: status $?"
	for metric in cpu wall; do
		"$agent" top --$metric "$recording" | head -1 >"$work/wanted"
		"$agent" top --$metric "$work/p.pb.gz" | head -1 | cmp -s - "$work/wanted" ||
			fail "$name --$metric: the total differs after import: $(cat "$work/wanted")"
	done
done

# A profile.proto whose period is 0: 10 samples, of 100 ms in total.
printf '\12\4\10\1\20\2\12\4\10\3\20\4\22\12\12\1\1\22\5\12\200\302\327\57\42\6\10\1\42\2\10\1\52\4\10\1\20\5' >"$work/p"
for text in '' samples count cpu nanoseconds work; do
	printf "\\62\\$(printf %o ${#text})%s" "$text" >>"$work/p"
done
printf '\132\4\10\3\20\4' >>"$work/p"
"$agent" top "$work/p" | grep -q '^cpu: 10 samples, 100 ms' || fail "no period: $("$agent" top "$work/p" 2>&1)"

# Every command reads it, from standard input too.
echo 'main;work 5' >"$work/one"
for command in 'top -n 1' collapsed 'summary' 'flamegraph -o -' 'export --format speedscope'; do
	# shellcheck disable=SC2086 # words on purpose
	"$agent" $command - <"$work/one" | grep -q 'work\|ExecutionSample\|WallClockSample' || fail "$command: status $?"
done
"$agent" top --base "$work/one" "$work/one" >"$work/out" || fail "top --base: status $?"

printf 'main 5\nno number\n' >"$work/bad"
"$agent" top "$work/bad" 2>"$work/err"
[ $? = 1 ] && grep -q 'offset 7: damaged folded stacks' "$work/err" || fail "damage: $(cat "$work/err")"
echo hello | "$agent" top - 2>"$work/err"
[ $? = 1 ] && grep -q 'no JFR chunk' "$work/err" || fail "no profile: $(cat "$work/err")"

# jfrconv's page, if async-profiler and Java are here.
converter=${ASPROF_TEST_LIB:+${ASPROF_TEST_LIB%/lib/*}/bin/jfrconv}
if [ -x "$converter" ] && command -v java >/dev/null; then
	"$converter" --cpu -o html test/fixtures/jfr/java.jfr "$work/page.html" >/dev/null || fail "jfrconv: status $?"
	"$converter" --cpu -o collapsed test/fixtures/jfr/java.jfr "$work/folded" >/dev/null
	LC_ALL=C sort "$work/folded" >"$work/wanted"
	"$agent" collapsed "$work/page.html" | LC_ALL=C sort | cmp -s - "$work/wanted" ||
		fail 'a flame graph of async-profiler differs after import'
	echo "the page has $(wc -l <"$work/wanted") stacks"
fi
