#!/bin/bash
# Frames of the preload are not in the profile. A program's stacks are as without a profiler: where it waits, in a
# handler, in an allocation, in threads and in children.
. "$(dirname "$0")/agent.inc"

own_frames=$(program own_frames -fno-builtin -O1)
library='libc\.so\.6\+[0-9a-fx]*'

# (async-profiler does not know the preload. Its recording has the preload's frames, and readers omit them.)
for engine in $(engines); do
	reports=$work/$engine
	# Samples that hit each wait, and some between two of its waits, which the preload then restarts.
	profiled "$reports" "$engine" CPU_INTERVAL=2ms WALL_INTERVAL=10ms NATIVE_MEM=16k "$own_frames" >"$work/said" 2>&1 ||
		fail "$engine: status $?: $(cat "$work/said")"
	for kind in cpu wall nativemem; do
		"$agent" top "--$kind" -n 0 "$reports" >"$work/$kind" || fail "$engine: $kind"
		! grep -q 'libasprof_preload' "$work/$kind" || fail "$engine: $kind: $(grep libasprof_preload "$work/$kind")"
		"$agent" collapsed "--$kind" "$reports" >"$work/$kind"
	done
	for stack in "main;nap;(usleep|[a-z_]*nanosleep|$library)" 'main;wait_for_nothing;[a-z_]*poll' \
		'work;nap;' ';handle;burn' 'work;burn'; do
		grep -qE "$stack" "$work/wall" || fail "$engine: no $stack in $(cat "$work/wall")"
	done
	# A call that the preload makes instead of another one, as the C library does.
	grep -qE 'main;nap;usleep;[a-z_]*nanosleep' "$work/wall" || fail "$engine: no usleep in $(cat "$work/wall")"
	grep -q 'main;burn' "$work/cpu" || fail "$engine: no child in $(cat "$work/cpu")"
	grep -qE 'main;allocate(;malloc_hook)? [0-9]*$' "$work/nativemem" || fail "$engine: $(cat "$work/nativemem")"
done

# A call that is restarted several times, after several signals, is shown by its name.
cat >"$work/again.c" <<'C'
#include <sys/time.h>
#include <signal.h>
#include <poll.h>
static volatile int n;
static void on(int signo) { n += signo; }
static void __attribute__((noinline)) wait_long(void) { for (int i = 0; i < 60; i++) poll(0, 0, 10); n++; }
int main(void)
{
	struct sigaction action = { .sa_handler = on, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } };
	sigaction(SIGALRM, &action, 0);
	setitimer(ITIMER_REAL, &every, 0);
	wait_long();
	return 0;
}
C
${CC:-cc} -O1 -g -fno-builtin -o "$work/again" "$work/again.c" || exit 1
profiled "$work/again_reports" builtin WALL_INTERVAL=2ms "$work/again" || fail "status $?"
"$agent" top --wall -n 0 "$work/again_reports" >"$work/top"
! grep -q libasprof_preload "$work/top" || fail "$(cat "$work/top")"
"$agent" collapsed --wall "$work/again_reports" | grep -q 'wait_long;[a-z_]*poll' || fail "$(cat "$work/top")"
echo ok
