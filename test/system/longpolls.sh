#!/bin/sh
# A poll in which a wall-clock sample was due is found at any interval, though a sleeping thread is only counted. Its
# length is about right if the interval is short.
. "$(dirname "$0")/agent.inc"
polls=$(program sleepy_polls) || exit 1
for engine in $(engines); do
	for interval in 5ms 50ms; do
		profiled "$work/$engine$interval" "$engine" CPU_INTERVAL=off WALL_INTERVAL=$interval \
			ENGINE_OPTIONS=clock=tsc "$polls" || fail "$engine: status $?"
		"$agent" longpolls "$work/$engine$interval" 20ms --stack-depth 1 >"$work/out" ||
			fail "$engine: longpolls: status $?"
		# Once for its first sample, and perhaps again for counted ones.
		ends=$(sed -n 's/^\[\([0-9.]*\)\].* - poll of \([0-9]*\)us$/\1 \2/p' "$work/out" |
			awk '{ n = int(($1 - $2 / 1e6) * 100 + .5); if (!(n in seen || n - 1 in seen || n + 1 in seen)) count++; seen[n] = 1 }
				$2 > 60000 { long++ } END { print count + 0, long + 0 }')
		echo "$engine, every $interval: $ends of 12 polls found, and told as half as long at least"
		# (A busy machine may wake the sampler late.)
		[ "${ends% *}" -ge 9 ] && [ "${ends#* }" -ge 9 ] || fail "$(cat "$work/out")"
	done
done
