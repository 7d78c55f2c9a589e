/* core/timer/thread_timer: a timer that one thread creates while another deletes it is never left behind. */
#include "core/timer/thread_timer.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "core/signal_share.h"
#include "core/timer/dropped_signals.h"
#include "test/fixtures/suite.h"

#define ROUNDS 30000

static struct thread_timer timer;
static _Atomic bool is_over;

static void *delete_always(void *unused)
{
	while (!atomic_load(&is_over))
		thread_timer_delete(&timer);
	return unused;
}

/* If the kernel has the file (CONFIG_CHECKPOINT_RESTORE). */
static ssize_t timers_of_process(char *text, size_t size)
{
	int fd = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, size);

	close(fd);
	return fd < 0 ? 0 : length;
}

START_TEST(no_timer_is_left)
{
	struct timer_signal signal_of = { .tid = gettid(), .signo = SIGRTMIN, .value = 1 };
	pthread_t thread;
	char text[64];

	signal(SIGRTMIN, SIG_IGN);
	ck_assert_int_eq(pthread_create(&thread, NULL, delete_always, NULL), 0);
	for (int i = 0; i < ROUNDS; i++)
		thread_timer_set(&timer, CLOCK_MONOTONIC, &signal_of, 0, 1000000000, 0, false);
	atomic_store(&is_over, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	thread_timer_delete(&timer);
	ck_assert(!thread_timer_exists(&timer));
	ck_assert_int_eq(signal_share_reserved(), 0);
	ck_assert_int_eq(timers_of_process(text, sizeof(text)), 0);
}
END_TEST

/* A thread that deletes its own timer is in no system call that the signal could have ended. */
START_TEST(counts_what_may_drop_signals)
{
	struct timer_signal signal_of = { .tid = gettid(), .signo = SIGRTMIN, .value = 1 };
	uint64_t count = dropped_signals_count();

	thread_timer_set(&timer, CLOCK_MONOTONIC, &signal_of, 0, 1000000000, 0, false);
	thread_timer_set_own(&timer, 2000000000);
	thread_timer_delete_own(&timer);
	thread_timer_delete(&timer);
	ck_assert(!dropped_signals_since(count));
	thread_timer_set(&timer, CLOCK_MONOTONIC, &signal_of, 0, 1000000000, 0, false);
	thread_timer_disarm(&timer);
	ck_assert(dropped_signals_since(count));
	count = dropped_signals_count();
	thread_timer_delete(&timer);
	ck_assert(dropped_signals_since(count));
	count = dropped_signals_count();
	dropped_signals_begin();
	ck_assert(dropped_signals_since(dropped_signals_count()));
	dropped_signals_end();
	ck_assert(dropped_signals_since(count) && !dropped_signals_since(dropped_signals_count()));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("thread_timer");

	tcase_add_test(tests, no_timer_is_left);
	tcase_add_test(tests, counts_what_may_drop_signals);
	return suite_run(tests);
}
