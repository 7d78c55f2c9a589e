#!/bin/sh
# A report every second loses nothing: there are as many samples as in one file, each file has samples, and each file
# can be read alone.
# Takes long.
. "$(dirname "$0")/agent.inc"

seconds=${ROTATION_SECONDS:-2} # of CPU for each of two threads, so it ends after at least as many
shape=$(program shape) || exit 1

# rates: samples per CPU second, of $engine, in one file and in many.
rates() {
	for dir in "$one" "$many"; do
		[ "$dir" = "$one" ] && interval=1h || interval=1s
		rm -rf "$dir"
		profiled "$dir" "$engine" CPU_INTERVAL=10ms WALL_INTERVAL=off \
			REPORTING_INTERVAL=$interval "$shape" "$seconds" >"$dir.cpu" ||
			fail "$engine: status $?"
		# Per CPU second, because other programs of the machine take their share.
		taken=$("$agent" collapsed --cpu "$dir" | samples ';burner;')
		awk -v n="$taken" '/^burner/ { s += $2 } END { print n / s }' "$dir.cpu" >"$dir.rate"
	done
}

for engine in $(engines); do
	one=$work/$engine-one many=$work/$engine-many
	rates
	if [ "$engine" = builtin ]; then
		within 2 "$(cat "$one.rate")" "$(cat "$many.rate")" "$engine: samples a CPU second"
	else
		# In both runs, it does not correct for signals that a busy machine sends late.
		(within 10 "$(cat "$one.rate")" "$(cat "$many.rate")" again >/dev/null) || rates
		within 20 "$(cat "$one.rate")" "$(cat "$many.rate")" "$engine: samples a CPU second"
	fi

	count=$(ls "$many" | wc -l)
	[ "$count" -ge 2 ] || fail "$engine: $count files in $seconds s"
	first=$(ls -tr "$many" | head -n 1) last=$(ls -t "$many" | head -n 1)
	for file in "$many"/*.jfr; do
		# The last report may be very short, and so may the one after a late report. On a busy machine the
		# program may not compute yet in the first one.
		[ "$(basename "$file")" = "$last" ] || [ "$(basename "$file")" = "$first" ] ||
			"$agent" collapsed --cpu "$file" | grep -q ';burner;' ||
			"$agent" duration "$file" | awk '{ exit !($1 < 0.5) }' ||
			fail "$engine: no samples in $(basename "$file")"
		! command -v jfr >/dev/null || jfr summary "$file" >/dev/null ||
			fail "$engine: jfr cannot read $(basename "$file")"
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
