#!/bin/bash
# The agent and other users of a profiler's resources do not disturb each other: timers and handlers for SIGPROF and
# SIGVTALRM, gperftools' profiler, heap profilers of allocators, the program's own async-profiler, an auditor of the
# loader. A thread by clone(2) is left alone.
#
#   GPERFTOOLS=libprofiler.so.0  this profiler (default: the one that ldconfig knows)
. "$(dirname "$0")/agent.inc"

own_timers=$(program own_timers) || exit 1

# close WHAT BARE GOT: each number is like that of a bare run. The lower bound is a tenth, because on a busy machine one
# signal stands for many expirations of a timer. Without the agent's help it is 0. The upper bound is 180, because the
# kernel counts whole ticks: 142 was seen. With signals of the agent it would be 200 and more.
close() {
	awk -v bare="$2" -v got="$3" 'BEGIN { split(bare, b); n = split(got, g);
		for (i = 1; i <= n; i++) bad += g[i] < b[i] / 10 || g[i] > 180
		exit n != 2 || bad }' || fail "$1: $3, and bare $2"
}

# sampled WHAT FUNCTION LEAST MOST: check the number of samples of FUNCTION.
sampled() {
	"$agent" collapsed --cpu "$work/out" >"$work/stacks" || fail "$1: no profile: $(cat "$work/err")"
	count=$(samples ";$2(;|$)" <"$work/stacks")
	[ "$count" -ge "$3" ] && [ "$count" -le "$4" ] || fail "$1: $count samples of $2"
}

# run ENGINE [VARIABLE=value...] COMMAND...: its output is in $said.
run() {
	rm -rf "$work/out"
	said=$(profiled "$work/out" "$@" 2>"$work/err") || fail "$*: $? $(cat "$work/err")"
}

# Each uses a second of CPU time.
bare=$("$own_timers" early)
for when in early late; do
	for engine in $(engines); do
		[ $when = early ] || [ "$engine" = builtin ] || continue
		run "$engine" CPU_INTERVAL=10ms "$own_timers" $when
		close "$engine, $when" "$bare" "$said"
		sampled "$engine, $when" in_main 60 110
	done
done

# A program may receive its own signals in one thread, and block them in all others.
for engine in $(engines); do
	run "$engine" CPU_INTERVAL=10ms "$own_timers" blocked
	sampled "$engine, blocked" in_thread 60 110
done

# The engine scans the threads every second, and adds one that it has seen twice. This one has its creator's thread-local
# data, which a handler must not use.
run builtin CPU_INTERVAL=10ms LOG=info "$own_timers" clone
sampled "a thread by clone" in_clone 0 0
grep -q "1 of the program's threads is by clone(2), unknown to the C library, and not sampled" "$work/err" ||
	fail "a thread by clone is not reported: $(cat "$work/err")"

cat >"$work/audit.c" <<'END'
#include <link.h>
#include <unistd.h>
unsigned la_version(unsigned version) { return version; }
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
	(void)map, (void)id, (void)cookie;
	write(STDERR_FILENO, "opened\n", 7);
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -w -o "$work/audit.so" "$work/audit.c" || exit 1
run builtin CPU_INTERVAL=10ms env LD_AUDIT="$work/audit.so" "$own_timers" none
[ "$said" = "0 0" ] && [ "$(grep -c '^opened$' "$work/err")" -ge 3 ] || fail "an auditor: $said $(cat "$work/err")"
sampled "an auditor" in_main 60 110

# Constructors of other preloads run in the program's first thread, also if async-profiler could start during one.
cat >"$work/slow.c" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void construct(void)
{
	usleep(WAIT);
	printf("%s", gettid() == getpid() ? "own " : "another thread's ");
	fflush(stdout);
}
END
for wait in 0 500000; do
	${CC:-cc} -D_GNU_SOURCE -DWAIT=$wait -shared -fPIC -o "$work/slow$wait.so" "$work/slow.c" || exit 1
done
for engine in $(engines); do
	run "$engine" CPU_INTERVAL=10ms START_DELAY=0s \
		env LD_PRELOAD="$work/slow0.so $work/slow500000.so $preload" "$own_timers" none
	[ "$said" = "own own 0 0" ] || fail "constructors, $engine: $said"
	sampled "constructors, $engine" in_main 60 110
done

gperftools=${GPERFTOOLS:-$(PATH=$PATH:/usr/sbin ldconfig -p 2>/dev/null | awk '/libprofiler\.so/ { print $NF; exit }')}
if [ -n "$gperftools" ]; then
	# It uses SIGPROF, whose handler reads its stacks by a pipe. Preloaded before and after the agent.
	for engine in $(engines); do
		for preloads in "$preload $gperftools" "$gperftools $preload"; do
			rm -rf "$work"/gperftools*
			run "$engine" CPU_INTERVAL=10ms env CPUPROFILE="$work/gperftools" LD_PRELOAD="$preloads" "$own_timers" none
			sampled "gperftools, $engine" in_main 60 110
			# Three words for the header, three and more for each stack.
			[ "$(cat "$work"/gperftools* | wc -c)" -gt 300 ] || fail "gperftools, $engine: it has no profile"
		done
	done
else
	echo "gperftools was left out: it is not on this machine"
fi
# The heap profilers of two allocators, each writing a profile at the end, together with the agent's sampling of
# memory.
heap_profiler() {
	local name=$1 library setting=$3

	library=$(PATH=$PATH:/usr/sbin ldconfig -p 2>/dev/null | awk -v name="$2" 'index($1, name) == 1 { print $NF; exit }')
	if [ -z "$library" ]; then
		echo "$name was left out: it is not on this machine"
		return
	fi
	for engine in $(engines); do
		rm -f "$work"/heap.*
		run "$engine" NATIVE_MEM=64k env "$setting" LD_PRELOAD="$preload $library" \
			perl -e 'while ((times)[0] < 0.6) { push @kept, "x" x 5000 . @kept; shift @kept if @kept > 2000 }
				print scalar(@kept)'
		[ "$said" = 2000 ] && [ -n "$(find "$work" -name 'heap*.heap' -size +0)" ] ||
			fail "$name, $engine: it has no profile: $said $(cat "$work/err")"
		"$agent" nativemem --type malloc "$work/out"/perl*.jfr | grep -q . || fail "$name, $engine: no profile of memory"
	done
}
heap_profiler jemalloc libjemalloc.so.2 "MALLOC_CONF=prof:true,prof_final:true,prof_prefix:$work/heap"
heap_profiler tcmalloc libtcmalloc.so.4 "HEAPPROFILE=$work/heap"

# A program that profiles itself by async-profiler keeps it if it loads the library first. Otherwise it gets the
# agent's, and ends the agent's profile; a line reports that.
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	own_profiler=$(program own_profiler -ldl) || exit 1
	for engine in auto async-profiler; do
		run $engine CPU_INTERVAL=10ms START_DELAY=300ms "$own_profiler" "$ASPROF_TEST_LIB" early "$work/own.jfr"
		[ "$said" = "ok, ok" ] && grep -q "itself; the builtin engine is used instead" "$work/err" ||
			fail "its own profiler, $engine: $said $(cat "$work/err")"
		sampled "its own profiler, $engine" in_main 50 100
		count=$("$agent" collapsed --cpu "$work/own.jfr" | samples .)
		# (It has samples; on a busy machine one signal stands for many of its intervals.)
		[ "$count" -ge 5 ] || fail "its own profile, $engine: $count samples"
	done
	run async-profiler CPU_INTERVAL=10ms "$own_profiler" "$ASPROF_TEST_LIB" late "$work/own.jfr"
	grep -q "async-profiler was stopped by other code in this process" "$work/err" || fail "stopped: $said $(cat "$work/err")"
	sampled "stopped" in_main 30 75
	run builtin CPU_INTERVAL=10ms "$own_profiler" "$ASPROF_TEST_LIB" late "$work/own.jfr"
	[ "$said $(cat "$work/err")" = "ok, ok " ] || fail "its own profiler, builtin: $said $(cat "$work/err")"
	sampled "its own profiler, builtin" in_main 50 100
fi
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
