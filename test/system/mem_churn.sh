#!/bin/bash
# Threads that allocate, free, resize, fork, load libraries and end at random run unharmed while their memory is
# sampled, rarely or always; so do programs with a sanitizer. test/unit/mem_churn.c runs the sampler itself under
# sanitizers. SECONDS_EACH=600 is the long version.
. "$(dirname "$0")/mem.inc"
seconds=${SECONDS_EACH:-2}
export ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_LOCAL_MAX_BYTES=50m
# The preload is before the sanitizer's malloc here on purpose.
export ASAN_OPTIONS=verify_asan_link_order=0
# For a sanitizer, allocations of the dynamic linker are no leak. It recognizes them by the caller of malloc, which is
# the preload here.
echo 'leak:_dl_map_object_deps' >"$work/no_leaks"
export LSAN_OPTIONS=suppressions=$work/no_leaks:print_suppressions=0

# churns WHAT INTERVAL PROGRAM: run 64 threads of it, sampled; its stderr is in $work/err.
churns() {
	out=$(ASPROF_AGENT_NATIVE_MEM=$2 preloaded timeout -k 5 $((seconds + 60)) \
		"$3" 64 "$seconds" 2>"$work/err") || fail "$1: status $?: $(cat "$work/err")"
	[ "$out" = "done" ] || fail "$1: $out $(cat "$work/err")"
}

silent() {
	[ ! -s "$work/err" ] || fail "$1: $(cat "$work/err")"
}

# says WHAT PATTERN: stderr has one line, the agent's.
says() {
	[ "$(wc -l <"$work/err")" = 1 ] && grep -q "^asprof-agent.* $2" "$work/err" ||
		fail "$1: does not say just \"$2\": $(cat "$work/err")"
}

# sanitized COMPILER SANITIZER: build it so; false if that compiler or its runtime is not installed.
sanitized() {
	"$1" -std=gnu11 -D_GNU_SOURCE -I. -O1 -g "-fsanitize=$2" -pthread -o "$work/sanitized" \
		test/programs/mem_churn.c -ldl 2>/dev/null
}

churn=$(program mem_churn) || exit 1
for interval in 0 4k 512k off; do
	churns "at $interval" $interval "$churn"
	silent "at $interval"
done

# Its runtime is a library after the preload: it checks memory that came through the preload's malloc.
if sanitized gcc address; then
	churns "gcc, address" 4k "$work/sanitized"
	silent "gcc, address"
	"$agent" summary "$work"/out/*.jfr | grep -q ' profiler.Malloc$' ||
		fail "gcc, address: nothing was sampled"
fi
# Its runtime is in the program, whose malloc comes first.
if sanitized clang address; then
	churns "clang, address" 4k "$work/sanitized"
	says "clang, address" "native memory: .* has its own malloc"
fi
# The agent does not profile this one.
if sanitized "${CC:-cc}" thread; then
	churns thread 4k "$work/sanitized"
	says thread "runs under the thread sanitizer"
fi
