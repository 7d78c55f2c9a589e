#!/bin/bash
# An allocation counts once, even if the C library's calloc calls malloc, as musl's does.
. "$(dirname "$0")/mem.inc"

export ASPROF_AGENT_NATIVE_MEM=256k
for compiler in "${CC:-cc}" musl-gcc; do
	command -v "${compiler%% *}" >/dev/null || continue
	nested=$(CC=$compiler program mem_nested) || exit 1
	preloaded "$nested" || fail "$compiler: status $?"
	"$agent" collapsed --alloc --scaled --total "$work/out" >"$work/folded" || fail "$compiler: no samples"
	for function in by_malloc by_calloc by_memalign by_posix_memalign; do
		# 200 samples. (Counted twice, it would be 100% more.)
		within 50 $((50 << 20)) "$(samples "(^|;)$function(;|$)" <"$work/folded")" "$compiler: $function"
	done
done
