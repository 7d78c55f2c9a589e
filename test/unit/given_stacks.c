/* Claims of signal stacks: each stack has one thread at a time. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory/given_stacks.h"
#include "test/fixtures/suite.h"

#define STACK UINT64_C(0x7f0012345000)

static uint32_t claim;
static pthread_barrier_t step;

static void *claim_and_end(void *had)
{
	claim = given_stack_claim(STACK, *(uint32_t *)had);
	return NULL;
}

static void *claim_and_wait(void *release)
{
	claim = given_stack_claim(STACK, 0);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	if (*(int *)release)
		given_stack_release(claim);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return NULL;
}

static uint32_t claim_in_thread(uint32_t had)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, claim_and_end, &had), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	return claim;
}

START_TEST(one_thread_has_a_stack)
{
	pthread_t thread;
	int release = 1;

	pthread_barrier_init(&step, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, claim_and_wait, &release), 0);
	pthread_barrier_wait(&step);
	ck_assert_uint_ne(claim, 0);
	ck_assert_uint_eq(given_stack_claim(STACK, 0), 0);
	ck_assert_uint_ne(given_stack_claim(STACK + 4096, 0), 0);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	ck_assert_uint_ne(given_stack_claim(STACK, 0), 0); /* it was released */
	pthread_barrier_wait(&step);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(own_claim_stays)
{
	uint32_t own = given_stack_claim(STACK, 0), next;

	ck_assert_uint_eq(given_stack_claim(STACK, own), own);
	ck_assert_uint_eq(claim_in_thread(0), 0);
	next = given_stack_claim(STACK + 64, own);
	ck_assert(next && next != own);
	given_stack_release(own);
	ck_assert_uint_ne(claim_in_thread(0), 0);
	given_stack_release(0);
	given_stack_release(GIVEN_STACK_NOT_NOTED);
}
END_TEST

/* A thread may end by a system call, without a release. (pthread_join(3) returns before the kernel has forgotten it.) */
START_TEST(claim_of_an_ended_thread)
{
	uint32_t old = claim_in_thread(0), own = 0;

	ck_assert_uint_ne(old, 0);
	for (int i = 0; i < 5000 && !own; i++) {
		own = given_stack_claim(STACK, 0);
		usleep(own ? 0 : 1000);
	}
	ck_assert_uint_eq(own, old);
	ck_assert_uint_eq(claim_in_thread(0), 0);
}
END_TEST

START_TEST(claim_in_a_child)
{
	uint32_t own = given_stack_claim(STACK, 0);
	pid_t child = fork();
	int status;

	if (!child) {
		given_stacks_reset_in_child(own);
		_exit(claim_in_thread(0) ? 1 : given_stack_claim(STACK, own) != own ? 2 : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Then stacks are used as before. */
START_TEST(too_many)
{
	uint32_t last = 0;

	for (uintptr_t i = 1; i <= 10000 && last != GIVEN_STACK_NOT_NOTED; i++) {
		last = given_stack_claim(i << 16, last);
		ck_assert_uint_ne(last, 0);
	}
	ck_assert_uint_eq(last, GIVEN_STACK_NOT_NOTED);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("given_stacks");

	tcase_add_test(tcase, one_thread_has_a_stack);
	tcase_add_test(tcase, own_claim_stays);
	tcase_add_test(tcase, claim_of_an_ended_thread);
	tcase_add_test(tcase, claim_in_a_child);
	tcase_add_test(tcase, too_many);
	return suite_run(tcase);
}
