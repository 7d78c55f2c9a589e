/* asyncprof/memory_calls.c: memory that async-profiler zeroes is zero, and its large tables are
 * then not resident. */
#include "asyncprof/memory_calls.h"

#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

#define BYTES ((size_t)4 << 20)

static size_t page;

static void set_up(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
}

static char *map(int flags, int fd)
{
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	memset(memory, 7, BYTES);
	return memory;
}

static size_t pages_there(const char *memory)
{
	unsigned char there[BYTES / 4096];
	size_t pages = 0;

	ck_assert_int_eq(mincore((void *)memory, BYTES, there), 0);
	for (size_t i = 0; i < BYTES / page; i++)
		pages += there[i] & 1;
	return pages;
}

static void is(const char *memory, size_t from, size_t to, char byte)
{
	while (from < to && memory[from] == byte)
		from++;
	ck_assert_uint_eq(from, to);
}

/* All but the first and the last bytes, because its table has a header. */
static void empty_inside(char *memory, size_t there)
{
	ck_assert_ptr_eq(engine_memset(memory + 100, 0, BYTES - 200), memory + 100);
	ck_assert_uint_eq(pages_there(memory), there);
	is(memory, 0, 100, 7);
	is(memory, 100, BYTES - 100, 0);
	is(memory, BYTES - 100, BYTES, 7);
}

START_TEST(its_own)
{
	char *memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1),
	     *other = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	empty_inside(memory, 2);
	empty_inside(other, 2);
	memset(memory, 7, BYTES);
	empty_inside(memory, 2);
}
END_TEST

START_TEST(set_to_more_than_zero)
{
	char *memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	ck_assert_ptr_eq(engine_memset(memory, 3, BYTES), memory);
	is(memory, 0, BYTES, 3);
}
END_TEST

/* Without its pages it would have the file's content, or another process's. */
START_TEST(of_a_file)
{
	int fd = memfd_create("seven", 0);
	char sevens[4096];

	memset(sevens, 7, sizeof(sevens));
	for (size_t i = 0; i < BYTES / sizeof(sevens); i++)
		ck_assert_int_eq(write(fd, sevens, sizeof(sevens)), sizeof(sevens));
	empty_inside(map(MAP_SHARED, fd), BYTES / page);
	empty_inside(map(MAP_PRIVATE, fd), BYTES / page);
	empty_inside(map(MAP_SHARED | MAP_ANONYMOUS, -1), BYTES / page);
}
END_TEST

/* As mlockall(2) has it. */
START_TEST(locked)
{
	char *memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	/* (A sanitizer does not support the C library's function.) */
	if (!syscall(SYS_mlock, memory, 2 * page))
		empty_inside(memory, BYTES / page);
}
END_TEST

/* Two mappings, one of which only looks like the other. */
START_TEST(in_part)
{
	char *memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	ck_assert_ptr_eq(mmap(memory + BYTES / 2, BYTES / 2, PROT_READ | PROT_WRITE,
			      MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0),
			 memory + BYTES / 2);
	memset(memory, 7, BYTES);
	empty_inside(memory, BYTES / page);
}
END_TEST

#define SORTED 20000

struct sorted {
	int key;
	int at; /* in the original order */
};

static size_t mapped_before;

/* Called within the sort. */
static int compare_keys(const void *a, const void *b)
{
	const struct sorted *first = a, *second = b;

	ck_assert_uint_eq(mallinfo2().hblkhd, mapped_before);
	return (first->key > second->key) - (first->key < second->key);
}

/* The C library's function maps memory for so many elements. Equal ones keep their order, as with that function. */
START_TEST(sorts_in_own_memory)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, SORTED };
	static struct sorted elements[SORTED];

	mapped_before = mallinfo2().hblkhd;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (int at = 0; at < SORTED; at++)
			elements[at] = (struct sorted){ .key = at * 7919 % 1009, .at = at };
		engine_qsort(elements, counts[i], sizeof(elements[0]), compare_keys);
		for (size_t at = 1; at < counts[i]; at++) {
			const struct sorted *a = &elements[at - 1], *b = &elements[at];

			ck_assert(a->key < b->key || (a->key == b->key && a->at < b->at));
		}
	}
}
END_TEST

static int times_out_of_memory;

static void count_out_of_memory(void)
{
	times_out_of_memory++;
}

START_TEST(out_of_memory)
{
	memory_calls_on_out_of_memory(count_out_of_memory);
	engine_free(engine_realloc(engine_malloc(10), 100));
	ck_assert_int_eq(times_out_of_memory, 0);
	ck_assert_ptr_null(engine_malloc(SIZE_MAX / 2));
	ck_assert_ptr_null(engine_calloc(SIZE_MAX / 2, 4));
	ck_assert_ptr_null(engine_realloc(engine_malloc(10), SIZE_MAX / 2));
	ck_assert_int_eq(times_out_of_memory, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_memory");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, set_up, NULL);
	tcase_add_test(all, its_own);
	tcase_add_test(all, set_to_more_than_zero);
	tcase_add_test(all, of_a_file);
	tcase_add_test(all, locked);
	tcase_add_test(all, in_part);
	tcase_add_test(all, sorts_in_own_memory);
	tcase_add_test(all, out_of_memory);
	suite_add_tcase(suite, all);
	return suite_run_all(suite);
}
