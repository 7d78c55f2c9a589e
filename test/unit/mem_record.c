/* engine/memory/mem_record: the stack that a hook takes of the program's. */
#include "engine/memory/mem_record.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/sample/ring.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define STACK_BYTES (256 * 1024)
#define UNUSED      0x5a

/* The bound for code in the program's threads. */
#define HOOK_BYTES 4096

static char *stack;

static void refuse(void)
{
	bool sampled;

	ck_assert(!mem_on_alloc_begin(1000000, __builtin_return_address(0), &sampled));
}

/* Returns the bytes that the hook takes. */
static void *refuse_in_thread(void *unused)
{
	char here, *low = &here - 1024;
	size_t end = 0;

	(void)unused;
	refuse(); /* once before, since the first call of a function may bind it */
	memset(stack, UNUSED, (size_t)(low - stack));
	refuse();
	while (stack[end] == UNUSED)
		end++;
	return (void *)(&here - (stack + end));
}

START_TEST(a_refused_allocation_takes_little_stack)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *bytes;

	if (ADDRESS_SANITIZED || THREAD_SANITIZED)
		return; /* frames are larger there */
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(stack, MAP_FAILED);
	ck_assert_int_eq(ring_open(4, 65536, NULL), 0);
	mem_limit(1000, &mem_record_port);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	ck_assert_int_eq(pthread_create(&thread, &attributes, refuse_in_thread, NULL), 0);
	pthread_join(thread, &bytes);
	mem_limit(MEM_OFF, NULL);
	ck_assert_uint_lt((uintptr_t)bytes, HOOK_BYTES);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem_record");

	tcase_add_test(tcase, a_refused_allocation_takes_little_stack);
	return suite_run(tcase);
}
