#!/bin/bash
# An engine's library cannot take low descriptors, signals or standard output, as async-profiler does, whether its
# imports are write-protected or not.
. "$(dirname "$0")/agent.inc"

# The program checks after the engine's start: descriptors of its own, all descriptors, their limit. A sent
# segmentation violation kills it.
look='until grep -q "profiling bash" "$0"; do :; done
	exec {first}</dev/null {second}</dev/null
	echo "$first $second limit $(ulimit -S -n)"
	low=(); for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ $fd -ge 400 ] || low+=($fd); done
	echo "${low[@]}"; kill -SEGV $$; echo alive'

# seen COMMAND...: its output, and its status.
seen() {
	{
		"$@" >"$work/said" 2>/dev/null
		echo "status $?" >>"$work/said"
	} 2>/dev/null
	cat "$work/said"
}

ulimit -S -n 1000
echo "profiling bash" >"$work/none"
plain=$(seen bash -c "$look" "$work/none")
for binding in lazy now; do
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -Wl,-z,relro,-z,$binding \
		-o "$work/$binding.so" test/programs/greedy_engine.c || exit 1
	: >"$work/log"
	preloaded=$(seen profiled "$work/out" async-profiler LIB="$work/$binding.so" LOG=info \
		LOG_FILE="$work/log" timeout 20 bash -c "$look" "$work/log")
	[ "$preloaded" = "$plain" ] || fail "$binding: $plain, but preloaded $preloaded; $(cat "$work/log")"
	grep -q "not for standard output" "$work/log" || fail "$binding: its words are lost"
done
echo "$plain"

# The changes that the engine makes to other libraries' imports do not apply to itself.
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/hooking.so" \
	test/programs/hooking_engine.c || exit 1
profiled "$work/out" async-profiler LIB="$work/hooking.so" LOG=info PROCESS=bash \
	timeout 20 bash -c 'until grep -Eq "profiling (bash|is off)" "$0"; do :; done' "$work/hooked" \
	2>"$work/hooked" || fail "hooks: status $?"
grep -q 'profiling bash with async-profiler' "$work/hooked" || fail "hooks: $(cat "$work/hooked")"
