/* core/disposition: the kernel calls the handler as requested, and the handler returns correctly. */
#include "core/disposition.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unwind.h>

#include "test/fixtures/suite.h"

#define SIGNO (SIGRTMIN + 3)

static volatile sig_atomic_t calls;
static volatile int64_t value;
static volatile bool blocked, met;
static struct disposition before;

static void setup(void)
{
	calls = 0;
	met = false;
	ck_assert_int_eq(disposition_get(SIGNO, &before), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(disposition_set(SIGNO, &before, NULL), 0);
}

static void note(int signo, siginfo_t *info, void *context)
{
	sigset_t now;

	(void)context;
	ck_assert_int_eq(signo, SIGNO);
	calls++;
	value = info->si_value.sival_int;
	sigprocmask(SIG_BLOCK, NULL, &now);
	blocked = sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGSEGV) == 0;
}

static const struct disposition noted = {
	.handler = (void *)note,
	.flags = SA_SIGINFO,
	.mask = DISPOSITION_ALL & ~(UINT64_C(1) << (SIGSEGV - 1)),
};

/* Twice: it returned the first time. */
START_TEST(a_handler_is_called_and_left)
{
	union sigval sent = { .sival_int = 4711 };

	ck_assert_int_eq(disposition_set(SIGNO, &noted, NULL), 0);
	ck_assert_int_eq(sigqueue(getpid(), SIGNO, sent), 0);
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(value, 4711);
	ck_assert(blocked);
	ck_assert_int_eq(raise(SIGNO), 0);
	ck_assert_int_eq(calls, 2);
}
END_TEST

START_TEST(what_was_set_is_told)
{
	struct disposition now, old;

	ck_assert_ptr_eq(before.handler, (void *)SIG_DFL);
	ck_assert_int_eq(disposition_set(SIGNO, &noted, &old), 0);
	ck_assert_ptr_eq(old.handler, (void *)SIG_DFL);
	ck_assert_int_eq(disposition_get(SIGNO, &now), 0);
	ck_assert_ptr_eq(now.handler, (void *)note);
	/* Two cannot be blocked. (An emulator does not remove them.) */
	if (getenv("TEST_RUNNER"))
		now.mask &= ~disposition_bit(SIGKILL) & ~disposition_bit(SIGSTOP);
	ck_assert_uint_eq(now.mask,
			  noted.mask & ~disposition_bit(SIGKILL) & ~disposition_bit(SIGSTOP));
	ck_assert_uint_eq(now.flags & SA_SIGINFO, SA_SIGINFO);
	ck_assert_int_eq(disposition_set(SIGKILL, &noted, NULL), -EINVAL);
}
END_TEST

/* Compilers' unwinders get from the handler to the interrupted function. */
static void interrupted_one(void);

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *unused)
{
	(void)unused;
	met |= _Unwind_GetRegionStart(context) == (uintptr_t)interrupted_one;
	return _URC_NO_REASON;
}

static void walk(int signo)
{
	(void)signo;
	_Unwind_Backtrace(look, NULL);
}

__attribute__((noinline)) static void interrupted_one(void)
{
	calls += raise(SIGNO) ? 0 : 1;
}

START_TEST(the_interrupted_frame_is_found)
{
	struct disposition walked = { .handler = (void *)walk };

	ck_assert_int_eq(disposition_set(SIGNO, &walked, NULL), 0);
	interrupted_one();
	ck_assert_int_eq(calls, 1);
	ck_assert(met);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_handler_is_called_and_left);
	tcase_add_test(tests, what_was_set_is_told);
	tcase_add_test(tests, the_interrupted_frame_is_found);
	return suite_run(tests);
}
