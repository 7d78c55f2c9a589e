#!/bin/sh
# Views over time: rows of top by time, the period of --at and --for, and sparklines on a terminal.
. "$(dirname "$0")/agent.inc"
have python3 script
recording=test/fixtures/jfr/chunks.jfr

"$agent" top --by time=500ms --json "$recording" >"$work/json" || fail "top --by time: status $?"
"$agent" top --json "$recording" >"$work/whole" || fail "top: status $?"
python3 - "$work/json" "$work/whole" <<'END' || fail "rows and the whole differ"
import json, sys
rows, whole = (json.load(open(path)) for path in sys.argv[1:])
assert rows['interval_ns'] == 500000000 and rows['weight'] == whole['weight']
assert sum(row['weight'] for row in rows['intervals']) == whole['weight']
starts = [row['start_ns'] for row in rows['intervals']]
assert starts == list(range(starts[0], starts[-1] + 1, 500000000)), starts
assert all(start % 500000000 == 0 for start in starts)
END
"$agent" top --by time -n 2 "$recording" >"$work/out" || fail "top --by time -n 2: status $?"
grep -q '^\.\.\. and [0-9]* with less' "$work/out" || fail "no limit: $(cat "$work/out")"

# --at and --for are --from and --to in other words.
for command in 'top -n 0' collapsed summary; do
	# shellcheck disable=SC2086 # words on purpose
	"$agent" $command --from 2s --to 3s "$recording" >"$work/wanted" || fail "$command: status $?"
	# shellcheck disable=SC2086
	"$agent" $command --at 2s --for 1s "$recording" | cmp -s - "$work/wanted" || fail "$command: --at differs"
	# shellcheck disable=SC2086
	"$agent" $command --at 2s "$recording" | cmp -s - "$work/wanted" || fail "$command: --at without --for differs"
done
for switches in '--at 1s --from 1s' '--for 1s' '--by time=no' '--by time=1us' '--by time=1500us' '--by time --live'; do
	# shellcheck disable=SC2086
	"$agent" top $switches "$recording" 2>/dev/null
	[ $? = 2 ] || fail "$switches: accepted"
done
"$agent" top --at 1h "$recording" >/dev/null 2>"$work/err"
grep -q 'in the period of --at' "$work/err" || fail "an empty period: $(cat "$work/err")"

# Times of day around midnight: a sample each second from 23:59:50 to 00:00:49, and from 00:00:05 to 00:00:24.
write_samples() { # FIRST COUNT
	for second in $(seq "$1" $(($1 + $2 - 1))); do
		printf 'service 7/7 [000] %s.000000: 1000000000 cpu-clock:\n\t1000 work+0x1 (/bin/service)\n\n' "$second"
	done
}
expect_samples() { # COUNT FILE SWITCH...
	wanted=$1 file=$2
	shift 2
	"$agent" top "$@" "$file" 2>/dev/null | grep -q "^cpu: $wanted samples" ||
		fail "$*: not $wanted samples: $("$agent" top "$@" "$file" 2>&1 | head -1)"
}
write_samples 86390 60 >"$work/over"
write_samples 86405 20 >"$work/after"
expect_samples 45 "$work/over" --from 00:00:05
expect_samples 60 "$work/over" --to 00:01:00
expect_samples 45 "$work/over" --from 00:00:05 --to 00:01:00
expect_samples 11 "$work/over" --from 23:59:55 --to 00:00:05
expect_samples 60 "$work/over" --from 23:59:00 --to 00:01:00
expect_samples 0 "$work/over" --to 23:59:00
expect_samples 0 "$work/over" --from 00:01:00
expect_samples 6 "$work/after" --from 23:59:00 --to 00:00:10
expect_samples 0 "$work/after" --from 00:00:20 --to 00:00:10
expect_samples 6 "$work/after" --at 23:59:00 --for 70s
expect_samples 0 "$work/after" --at 23:59:00 --for 60s

# The time for a row does not depend on the number of functions: 20,000 functions in 200,000 rows.
awk 'BEGIN { for (s = 0; s < 200; s++) {
	printf "service 7/7 [000] %d.000000: 1000000000 cpu-clock:\n", 1000 + s
	for (f = 0; f < 100; f++) printf "\t1000 function%d+0x1 (/bin/service)\n", s * 100 + f
	print "" } }' >"$work/many"
bash -c 'ulimit -t 30 && exec "$@"' bash "$agent" top --by time=1ms -n 3 "$work/many" >"$work/out" || fail "many rows: status $?"
grep -q '1990*1 intervals' "$work/out" || fail "many rows: $(head -1 "$work/out")"

# The confidence of native memory is the same in each page.
for command in timeline flamegraph; do
	"$agent" $command --alloc test/fixtures/jfr/native.jfr -o "$work/page" || fail "$command: status $?"
	grep -o '"effective":[0-9.]*' "$work/page" >"$work/$command.effective" || fail "$command: no effective sample size"
done
cmp "$work/timeline.effective" "$work/flamegraph.effective" || fail 'timeline --alloc: another effective sample size'

cp "$recording" "$work/service_77_2026-11-21T02-29-42Z.jfr"
TERM=xterm PAGER=cat timeout 30 script -qec "$agent summary $work/service_77_2026-11-21T02-29-42Z.jfr" /dev/null \
	>"$work/out" 2>&1 </dev/null || fail "summary: status $?"
grep -q '█.*  service_77' "$work/out" || fail "no sparkline: $(cat "$work/out")"
"$agent" summary "$recording" | grep -q '█' && fail 'a sparkline in a pipe'
exit 0
