/* Three threads with small signal stacks wait for an event, one after another: each twice. Prints "ready", and "ok" at the end.
 * Usage: waits_on_small_stacks FILE: the first event comes when FILE exists. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "test/programs/check.h"

#define THREADS     3
#define STACK_BYTES 8192

static struct {
	int event, epoll;
	char stack[STACK_BYTES];
} threads[THREADS];

static void *wait_twice(void *number)
{
	uintptr_t i = (uintptr_t)number;
	const stack_t stack = { .ss_sp = threads[i].stack, .ss_size = STACK_BYTES };
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
	uint64_t value, kept[8];

	CHECK(!sigaltstack(&stack, NULL));
	CHECK(!epoll_ctl(threads[i].epoll, EPOLL_CTL_ADD, threads[i].event, &event));
	for (uint64_t turn = 1; turn <= 2; turn++) {
		for (uint64_t k = 0; k < 8; k++)
			kept[k] = i * 100 + turn * 10 + k;
		memset(&event, 0, sizeof(event));
		CHECK(epoll_wait(threads[i].epoll, &event, 1, 60000) == 1);
		CHECK(event.data.u64 == i);
		for (uint64_t k = 0; k < 8; k++)
			CHECK(kept[k] == i * 100 + turn * 10 + k);
		CHECK(read(threads[i].event, &value, sizeof(value)) == sizeof(value) &&
		      value == turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS];

	CHECK(argc == 2);
	for (uintptr_t i = 0; i < THREADS; i++) {
		threads[i].event = eventfd(0, 0);
		threads[i].epoll = epoll_create1(0);
		CHECK(threads[i].event >= 0 && threads[i].epoll >= 0);
		CHECK(!pthread_create(&ids[i], NULL, wait_twice, (void *)i));
	}
	puts("ready");
	fflush(stdout);
	while (access(argv[1], F_OK))
		usleep(10000);
	errno = 0;
	/* From the last thread to the first: each waits for the second time while the next still waits for the first. */
	for (uint64_t turn = 1; turn <= 2; turn++)
		for (int i = THREADS - 1; i >= 0; i--) {
			CHECK(write(threads[i].event, &turn, sizeof(turn)) == sizeof(turn));
			usleep(400000);
		}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(ids[i], NULL));
	puts("ok");
	return 0;
}
