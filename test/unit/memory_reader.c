/* engine/reading/memory_reader: mapped memory is read next to unmapped memory. Unmapped memory
 * causes no fault, even if it is unmapped during the read, or if a sandbox refuses the copying
 * call. */
#include "engine/reading/memory_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "test/fixtures/suite.h"
#include "test/programs/filter.h"

#define PATTERN(i) ((uint8_t)((i)*7 + (i) / 256))

/* A page with a pattern, between unmapped pages. */
static uint8_t *lone_page(void)
{
	uint8_t *low = mmap(NULL, 3 * MEMORY_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *page = low + MEMORY_PAGE;

	ck_assert_ptr_ne(low, MAP_FAILED);
	ck_assert_int_eq(mprotect(page, MEMORY_PAGE, PROT_READ | PROT_WRITE), 0);
	for (size_t i = 0; i < MEMORY_PAGE; i++)
		page[i] = PATTERN(i);
	return page;
}

static struct memory_block block;
static struct memory_reader reader;

static void setup(void)
{
	memory_block_init(&block);
	reader = (struct memory_reader){ .block = &block };
}

static void check_edges(const uint8_t *page)
{
	uintptr_t address = (uintptr_t)page;
	uint8_t bytes[MEMORY_PAGE];

	for (size_t size = 1; size <= 16; size++)
		for (size_t from = 0; from + size <= MEMORY_PAGE; from++) {
			memory_block_init(&block); /* more copies than one block makes */
			memset(bytes, 0, size);
			ck_assert(memory_read(&reader, bytes, address + from, size));
			ck_assert_mem_eq(bytes, page + from, size);
		}
	ck_assert(memory_read(&reader, bytes, address, MEMORY_PAGE));
	ck_assert_mem_eq(bytes, page, MEMORY_PAGE);
	ck_assert(!memory_read(&reader, bytes, address - 1, 8));
	ck_assert(!memory_read(&reader, bytes, address - 8, 8));
	ck_assert(!memory_read(&reader, bytes, address + MEMORY_PAGE, 1));
	ck_assert(!memory_read(&reader, bytes, address + MEMORY_PAGE - 4, 8));
}

START_TEST(edges)
{
	check_edges(lone_page());
}
END_TEST

/* As in a thread in a sandbox. */
START_TEST(edges_without_the_call)
{
	struct sock_filter filter[] = {
		LOAD_NUMBER,
		ON_CALL(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM),
		OTHERWISE(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return; /* emulators have no filters */
	check_edges(lone_page());
}
END_TEST

START_TEST(no_memory)
{
	static const uintptr_t nowhere[] = { 0,
					     1,
					     MEMORY_PAGE - 1,
					     UINTPTR_MAX,
					     UINTPTR_MAX - 7,
					     (uintptr_t)1 << 63,
					     (uintptr_t)1 << ARCH_ADDRESS_BITS,
					     ((uintptr_t)1 << ARCH_ADDRESS_BITS) - 1 };
	uintptr_t word;

	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		ck_assert(!memory_read(&reader, &word, nowhere[i], sizeof(word)));
		ck_assert(!memory_copy(&word, nowhere[i], sizeof(word)));
	}
}
END_TEST

/* Up to its end, or the end of TEXT, or of the mapping. */
START_TEST(strings)
{
	char *page = (char *)lone_page(), *last = page + MEMORY_PAGE - 4;
	char text[8];

	memset(page, 'x', MEMORY_PAGE);
	memcpy(last, "end", 4);
	ck_assert(memory_read_string(&reader, text, sizeof(text), (uintptr_t)last));
	ck_assert_str_eq(text, "end");
	ck_assert(memory_read_string(&reader, text, 4, (uintptr_t)last));
	ck_assert_str_eq(text, "end");
	ck_assert(!memory_read_string(&reader, text, 3, (uintptr_t)last));
	ck_assert_str_eq(text, "en");
	ck_assert(!memory_read_string(&reader, text, sizeof(text), (uintptr_t)page));
	ck_assert_str_eq(text, "xxxxxxx");

	last[3] = 'x';
	setup(); /* the block has a copy */
	ck_assert(!memory_read_string(&reader, text, sizeof(text), (uintptr_t)last));
	ck_assert_str_eq(text, "endx");
	ck_assert(!memory_read_string(&reader, text, sizeof(text), (uintptr_t)page - 1));
	ck_assert_str_eq(text, "");
	munmap(page - MEMORY_PAGE, 3 * MEMORY_PAGE);
}
END_TEST

START_TEST(what_stays_is_not_copied)
{
	uint8_t *page = lone_page();
	uintptr_t word, expected;

	reader.low = (uintptr_t)page;
	reader.high = reader.low + 128;
	memcpy(&expected, page + 120, sizeof(expected));
	ck_assert(memory_read_word(&reader, reader.high - sizeof(word), &word));
	ck_assert_uint_eq(word, expected);
	ck_assert(memory_read(&reader, &word, reader.low + 3, sizeof(word)));
	ck_assert_uint_eq(block.copies, 0);
	/* Across its end, and after it: one block. */
	ck_assert(memory_read(&reader, &word, reader.high - 4, sizeof(word)));
	ck_assert_mem_eq(&word, page + 124, sizeof(word));
	ck_assert(memory_read_word(&reader, reader.high, &word));
	ck_assert_uint_eq(block.copies, 1);
}
END_TEST

/* As for the pages of a stack with an unknown end. */
START_TEST(what_is_next_stays)
{
	uint8_t *page = lone_page();
	uintptr_t word, expected;

	memcpy(&expected, page + 120, sizeof(expected));
	reader.next = (uintptr_t)page;
	ck_assert(memory_read_word(&reader, reader.next + 120, &word));
	ck_assert_uint_eq(word, expected);
	ck_assert_uint_eq(reader.low, (uintptr_t)page);
	ck_assert_uint_eq(reader.high, (uintptr_t)page + MEMORY_PAGE);
	ck_assert_uint_eq(block.copies, 0);
	ck_assert(!memory_read_word(&reader, reader.high, &word));
	ck_assert_uint_eq(reader.high, (uintptr_t)page + MEMORY_PAGE);
	ck_assert_uint_eq(block.copies, 1);
	memory_reader_distrust(&reader);
	ck_assert(memory_read_word(&reader, (uintptr_t)page + 120, &word));
	ck_assert_uint_eq(word, expected);
	ck_assert_uint_eq(block.copies, 2);
	/* A range that is known in another way stays trusted. */
	reader.low = (uintptr_t)page;
	reader.high = (uintptr_t)page + MEMORY_PAGE;
	memory_reader_distrust(&reader);
	ck_assert(memory_read_word(&reader, (uintptr_t)page, &word));
	ck_assert_uint_eq(block.copies, 2);
}
END_TEST

/* A reader that moves back and forth comes to an end. */
START_TEST(copies_are_bounded)
{
	uintptr_t address = (uintptr_t)lone_page(), word;
	unsigned copies = 0;

	while (memory_read_word(&reader, address + copies % 2 * MEMORY_BLOCK, &word))
		copies++;
	ck_assert_uint_eq(copies, MEMORY_COPIES_MAX);
}
END_TEST

/* Without any other way to read than the thread's id, which is read once. */
static void *read_on(void *page)
{
	struct sock_filter filter[] = {
		LOAD_NUMBER,
		ON_CALL(SYS_gettid, SECCOMP_RET_ERRNO | EPERM),
		ON_CALL(SYS_rt_sigprocmask, SECCOMP_RET_ERRNO | EPERM),
		OTHERWISE(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	uintptr_t word;

	if (!memory_read(&reader, &word, (uintptr_t)page, sizeof(word)))
		return NULL;
	/* (Emulators have no filters.) */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return memory_read(&reader, &word, (uintptr_t)page + MEMORY_BLOCK, sizeof(word)) ? page
											 : NULL;
}

START_TEST(who_reads_is_asked_once)
{
	uint8_t *page = lone_page();
	pthread_t thread;
	void *read;

	ck_assert_int_eq(pthread_create(&thread, NULL, read_on, page), 0);
	ck_assert_int_eq(pthread_join(thread, &read), 0);
	ck_assert_ptr_eq(read, page);
	ck_assert_uint_eq(block.copies, 2);
}
END_TEST

static atomic_bool done;

static void *come_and_go(void *page)
{
	while (!atomic_load(&done)) {
		if (mprotect(page, MEMORY_PAGE, PROT_NONE) ||
		    mprotect(page, MEMORY_PAGE, PROT_READ))
			abort();
	}
	return NULL;
}

#define READS 30000 /* successful ones, and as many failing ones */

START_TEST(memory_that_comes_and_goes)
{
	uint8_t *page = lone_page();
	size_t read = 0, failed = 0, at;
	uint8_t bytes[16];
	pthread_t thread;

	if (getenv("TEST_RUNNER"))
		return; /* an emulator reports all memory as readable */
	ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, page), 0);
	while (read < READS || failed < READS) {
		at = (read + failed) % (MEMORY_PAGE - sizeof(bytes));
		memory_block_init(&block);
		if (!memory_read(&reader, bytes, (uintptr_t)page + at, sizeof(bytes))) {
			failed++;
			continue;
		}
		ck_assert_uint_eq(bytes[0], PATTERN(at));
		ck_assert_uint_eq(bytes[15], PATTERN(at + 15));
		read++;
	}
	atomic_store(&done, true);
	pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("memory reader");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, edges);
	tcase_add_test(tests, edges_without_the_call);
	tcase_add_test(tests, no_memory);
	tcase_add_test(tests, strings);
	tcase_add_test(tests, what_stays_is_not_copied);
	tcase_add_test(tests, what_is_next_stays);
	tcase_add_test(tests, copies_are_bounded);
	tcase_add_test(tests, who_reads_is_asked_once);
	tcase_add_test(tests, memory_that_comes_and_goes);
	return suite_run(tests);
}
