#!/bin/bash
# Very many forks, some of whose children are just about to be profiled when they end or execute a program: none
# hangs, and each ends as it should.
#
#   STORM="64 1000 300"  threads, forks per second, seconds
#   SETTINGS="…"         with these settings
. "$(dirname "$0")/agent.inc"

storm=$(program storm) || exit 1
under=${SETTINGS:-CPU_INTERVAL=1ms WALL_INTERVAL=10ms NATIVE_MEM=1k START_DELAY=2ms CHILDREN=off}
for engine in $(engines); do
	# shellcheck disable=SC2086
	profiled "$work/out" "$engine" LOCAL_MAX_BYTES=100m $under "$storm" ${STORM:-16 200 2} >"$work/said" \
		2>"$work/err" ||
		fail "$engine: $? $(tail -n 20 "$work/err")"
	read -r forks us <"$work/said"
	[ "$forks" -ge 16 ] || fail "$engine: $forks forks"
	find "$work/out" -name 'storm_*' | grep -q . || fail "$engine: nothing was profiled"
	echo "$engine: $forks forks, $us us each"
done
