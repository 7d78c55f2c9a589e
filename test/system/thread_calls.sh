#!/bin/bash
# A thread that ends at once makes few more system calls than without the agent: two for its signal stack, and those
# for one timer. (async-profiler makes some more.)
. "$(dirname "$0")/agent.inc"
have strace

short_threads=$(program short_threads) || exit 1
strace -f -o "$work/probe" true 2>/dev/null || skip "strace may not trace here"

# count CALL: number of calls in the threads that created a timer but ended before a sample.
count() {
	grep -c " $1(" "$work/calls"
}

for run in builtin:100ms builtin:1ms $(engines | sed -n 's/^async-profiler$/&:100ms/p'); do
	interval=${run#*:}
	profiled "$work/out" "${run%:*}" CPU_INTERVAL="$interval" WALL_INTERVAL=off strace -f -o "$work/all" \
		-e trace=sigaltstack,gettid,clock_gettime,timer_create,timer_settime "$short_threads" >/dev/null 2>&1 ||
		fail "status $?"
	# The threads end after their alternate stack is removed.
	awk '/sigaltstack\(\{ss_sp=NULL, ss_flags=SS_DISABLE/ { ours[$1] = 1 } { line[NR] = $0; tid[NR] = $1 }
		END { for (i = 1; i <= NR; i++) if (tid[i] in ours) print line[i] }' "$work/all" >"$work/calls"
	threads=$(awk '{ seen[$1] = 1 } END { for (t in seen) n++; print n + 0 }' "$work/calls")
	[ "$threads" -ge 400 ] || fail "$run: $threads threads"
	echo "$run: $threads threads, $(count sigaltstack) sigaltstack, $(count gettid) gettid, $(count timer_create)" \
		"timer_create, $(count timer_settime) timer_settime, $(count clock_gettime) clock_gettime"
	[ "$(count sigaltstack)" -le $((threads * 21 / 10)) ] || fail "$run: too many calls of sigaltstack"
	# (A sample may take another one.)
	[ "$run" != builtin:100ms ] || [ "$(count gettid)" -le $((threads / 10)) ] || fail "$run: too many calls of gettid"
	[ "$(count timer_create)" -le $((threads * 11 / 10)) ] || fail "$run: too many timers"
	# (async-profiler's timer reads the clock if the thread has waited long for a processor.)
	[ "$interval" = 1ms ] || [ "$(count clock_gettime)" -le $((threads * 9 / 10)) ] ||
		fail "$run: too many calls of clock_gettime"
done
