#!/bin/bash
# A later report alone, and a response of the live endpoint, weigh samples like the first report, which has the
# engine's settings. This holds also after a change of settings in the running program, and for a killed process.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
program=$(program live)
export XDG_RUNTIME_DIR="$work"
pprof=
! go tool -n pprof >/dev/null 2>&1 || pprof=yes

# milliseconds FILE: per sample, from top's output: "cpu: 12 samples, 60 ms, in 1 s, 1 thread".
milliseconds() {
	head -n 1 "$1" | awk '{ unit = $5 ~ /^s,/ ? 1000 : $5 ~ /^us,/ ? 0.001 : $5 ~ /^ms,/; print $2 ? $4 * unit / $2 : 0 }'
}

# weighs MILLISECONDS WHAT COMMAND...: each sample in its output, in top's form, has that weight.
weighs() {
	local each=$1 what=$2
	shift 2
	"$@" >"$work/top" 2>"$work/top.err" || fail "$what: $(cat "$work/top.err")"
	milliseconds "$work/top" | awk -v each="$each" '{ near = $1 > 0.98 * each && $1 < 1.02 * each } END { exit !near }' ||
		fail "$what: $(head -n 1 "$work/top")"
}

# later DIRECTORY: keep only one report there, not the first; $report is its path.
later() {
	local tries=200
	until_true find "$1" -name '*.jfr' -size +0 || fail "no report"
	# The time before a change of settings is in this one.
	"$agent" flush "$pid" >"$work/told" 2>&1 || fail "flush: $(cat "$work/told")"
	until
		sleep 0.3
		rm -f "$1"/*.jfr
		"$agent" flush "$pid" >"$work/told" 2>&1 || fail "flush: $(cat "$work/told")"
		report=$(find "$1" -name '*.jfr')
		[ -f "$report" ] && "$agent" summary "$report" | grep -q 'jdk.ExecutionSample' &&
			"$agent" summary "$report" | grep -q 'profiler.WallClockSample\|jdk.ExecutionSample'
	do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "no report with samples: $(ls "$1")"
	done
}

for engine in $(engines); do
	held "$engine" ENGINE="$engine" LIB="${ASPROF_TEST_LIB:-}" CPU_INTERVAL=2ms WALL_INTERVAL=50ms \
		REPORTING_INTERVAL=1h SPOOL_DIR="$work/spool" "$program"
	until_true "$agent" flush "$pid" || fail "$engine: no endpoint: $(cat "$work/$engine.err")"
	dir=$work/$engine
	later "$dir"
	weighs 2 "$engine: CPU time of a later report" "$agent" top --cpu "$report"
	weighs 50 "$engine: wall clock of a later report" "$agent" top --wall "$report"
	if [ -n "$pprof" ]; then
		"$agent" pprof --cpu "$report" -o "$work/later.pb.gz" || fail "$engine: no pprof"
		go tool pprof -raw "$work/later.pb.gz" >"$work/raw" 2>&1
		grep -q '^Period: 2000000$' "$work/raw" || fail "$engine: pprof: $(head -n 5 "$work/raw")"
	fi
	weighs 2 "$engine: profile" "$agent" profile "$pid" -t 1s
	weighs 50 "$engine: profile --wall --unchanged" "$agent" profile "$pid" -t 0.5s --wall --unchanged
	weighs 10 "$engine: profile --wall" "$agent" profile "$pid" -t 0.5s --wall
	weighs 50 "$engine: after profile --wall" "$agent" profile "$pid" -t 0.5s --wall --unchanged

	# If settings change during a profile, each part has its own interval. On a busy machine a short part may have no
	# samples.
	for seconds in 2 8 24; do
		"$agent" set "$pid" CPU_INTERVAL=2ms WALL_INTERVAL=50ms >"$work/told" 2>&1 || fail "$engine: set: $(cat "$work/told")"
		"$agent" profile "$pid" -t ${seconds}s >"$work/both" 2>&1 &
		taking=$!
		sleep $((seconds / 2))
		"$agent" set "$pid" CPU_INTERVAL=5ms WALL_INTERVAL=20ms >"$work/told" 2>&1 || fail "$engine: set: $(cat "$work/told")"
		wait $taking
		! milliseconds "$work/both" | awk '{ between = $1 > 2.1 && $1 < 4.9 } END { exit !between }' || break
		[ $seconds -lt 24 ] || fail "$engine: profile of two intervals: $(head -n 1 "$work/both")"
	done
	weighs 5 "$engine: profile, with another interval" "$agent" profile "$pid" -t 1s
	later "$dir"
	weighs 5 "$engine: CPU time, with another interval" "$agent" top --cpu "$report"
	weighs 20 "$engine: wall clock, with another interval" "$agent" top --wall "$report"

	# The next process makes this report for a killed one.
	sleep 2
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	"$agent" recover "$work/spool" -o "$work/recovered" >"$work/told" 2>&1 || fail "$engine: recover: $(cat "$work/told")"
	weighs 5 "$engine: recovered" "$agent" top --cpu "$work/recovered/live_${pid}_"*.jfr
done
