#!/bin/bash
# A sample does not end calls that the program would have to begin again: reservations of space, loads of a BPF program.
. "$(dirname "$0")/agent.inc"
spoiled_calls=$(program spoiled_calls)
library=$work/library.so
program spoiled_calls -DLIBRARY -shared -fPIC >/dev/null && mv "$spoiled_calls" "$library" && program spoiled_calls >/dev/null
[ "$(LD_PRELOAD=$library "$spoiled_calls")" = ok ] || fail "bare"
preload="$preload $library"
for engine in $(engines); do
	for _ in 1 2 3; do
		said=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms "$spoiled_calls" 2>&1) ||
			fail "$engine: status $?, $said"
		[ "$said" = ok ] || fail "$engine: $said"
	done
done
echo ok
