#!/bin/bash
# Both engines profile a program for musl as one for glibc: its threads, its allocations and its forked children. Its
# output and status do not change.
. "$(dirname "$0")/agent.inc"

command -v musl-gcc >/dev/null || {
	echo "this needs musl-gcc"
	exit 77
}
cat >"$work/program.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

/* Half a second of CPU time. */
__attribute__((noinline)) static void burn(void)
{
	struct timespec t;

	do {
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (!t.tv_sec && t.tv_nsec < 500000000);
}

__attribute__((noinline)) static char *keep(void)
{
	return memset(malloc(1 << 20), 1, 1 << 20);
}

static void *thread(void *text)
{
	char *kept = keep();

	burn();
	puts(kept[9] ? text : "nothing");
	return kept;
}

int main(void)
{
	pthread_t id;
	void *kept;
	int status;

	if (!fork()) {
		burn();
		_exit(3);
	}
	if (wait(&status) < 0 || WEXITSTATUS(status) != 3)
		return 2;
	if (pthread_create(&id, NULL, thread, "out") || pthread_join(id, &kept))
		return 1;
	free(kept);
	return 5;
}
END
musl-gcc -fno-builtin -o "$work/program" "$work/program.c" || fail "cannot build"
for engine in $(engines); do
	reports=$work/reports.$engine
	said=$(profiled "$reports" "$engine" CPU_INTERVAL=10ms NATIVE_MEM=1k "$work/program" 2>&1)
	status=$?
	[ "$status $said" = "5 out" ] || fail "$engine: status $status: $said"
	[ "$(find "$reports" -name '*.jfr' -printf '%f\n' | cut -d_ -f2 | sort -u | wc -l)" -eq 2 ] ||
		fail "$engine: not a profile of each: $(ls "$reports")"
	# (That engine uses frame pointers, which musl does not have: its stacks may begin with another function of
	# the program.)
	for function in 'thread;burn' 'main;burn'; do
		[ "$engine" = builtin ] || function=burn
		"$agent" collapsed --cpu "$reports" | grep -q "$function" || fail "$engine: no $function: $("$agent" collapsed --cpu "$reports")"
	done
	"$agent" collapsed --nativemem "$reports" | grep -q 'thread;keep\|;keep [0-9]*$' ||
		fail "$engine: what it allocates is not there: $("$agent" collapsed --nativemem "$reports")"
done

# A function without a name gets none: waits are in such a function, after another one without a size.
musl-gcc -std=gnu11 -D_GNU_SOURCE -I. -O1 -g -fno-builtin -o "$work/own_frames" test/programs/own_frames.c ||
	fail "cannot build"
profiled "$work/waits" builtin WALL_INTERVAL=10ms "$work/own_frames" || fail "status $?"
"$agent" collapsed --wall "$work/waits" >"$work/stacks"
grep -q 'main;nap;' "$work/stacks" || fail "$(cat "$work/stacks")"
! grep 'nap;.*\(memset\|jmp\)\|wait_for.*\(memset\|jmp\)' "$work/stacks" || fail "those have names of others"

# Through several of musl's functions, which have no unwind information: the stack has their caller.
musl-gcc -O2 -fno-builtin -o "$work/through" test/programs/through.c || fail "cannot build"
profiled "$work/through_reports" builtin CPU_INTERVAL=2ms "$work/through" || fail "status $?"
# (The kernel's own clock_gettime() is in no symbol table of musl.)
"$agent" collapsed --cpu "$work/through_reports" | grep -v clock_gettime >"$work/stacks"
grep -q 'main;sort_numbers;qsort[^ ]*;compare' "$work/stacks" || fail "qsort: $(cat "$work/stacks")"
grep -q 'main;write_text;sprintf;[^ ]*vfprintf' "$work/stacks" || fail "sprintf: $(cat "$work/stacks")"
if grep -E 'sort_numbers;.*printf|write_text;.*(qsort|compare)' "$work/stacks"; then
	fail "those are no callers"
fi
# (In one of dozens of runs, two of some 130 samples had such a frame: it was next to the stack, and was not
# recognized.)
none=$(grep -E ';0x[0-9a-f]*;|^0x' "$work/stacks" | samples .)
[ $((none * 20)) -le "$(samples . <"$work/stacks")" ] || fail "in no code: $(cat "$work/stacks")"
# A function that is called by a pointer has no known caller.
! grep 'compare' "$work/stacks" | grep -v 'main;sort_numbers;qsort' || fail "those end early"

# The engine's library by its name only, where the dynamic loader would find it: in LD_LIBRARY_PATH, and by the
# loader's own file of paths. (That file is next to the loader's directory.)
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	mkdir -p "$work/root/lib" "$work/root/etc" "$work/opt"
	loader=$(readelf -l "$work/program" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	cp -L "$loader" "$work/root$loader" || fail "no $loader"
	cp "$ASPROF_TEST_LIB" "$work/opt/libasyncProfiler.so" || fail "no library"
	musl-gcc -fno-builtin -Wl,--dynamic-linker="$work/root$loader" -o "$work/rooted" "$work/program.c" || fail "cannot build"
	# found NAME: it took the samples, and there was no message.
	found() {
		said=$(profiled "$work/found.$1" async-profiler LIB=libasyncProfiler.so CPU_INTERVAL=10ms "$work/rooted" 2>&1)
		status=$?
		[ "$status $said" = "5 out" ] || fail "$1: status $status: $said"
		"$agent" summary "$work/found.$1" | grep -q 'Engine .*ctimer' || fail "$1: $("$agent" summary "$work/found.$1")"
	}
	LD_LIBRARY_PATH=$work/opt found variable
	printf '/nowhere\n%s\n' "$work/opt" >"$work/root/etc/ld-musl-$(uname -m).path"
	found file
fi
echo ok
