/* core/memory/region.c: one range of addresses from which many threads allocate, and that is one
 * free range again when all is freed. */
#include "core/memory/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/shared.h"
#include "core/system.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define BYTES   ((size_t)32 << 20)
#define UNIT    ((size_t)ARCH_PAGE_MAX)
#define THREADS 4
#define HELD    16
#define ROUNDS  1500

static void set_up(void)
{
	ck_assert_int_eq(region_begin(BYTES), 0);
	ck_assert_uint_eq(region_free_bytes(), BYTES);
}

/* Memory filled with BYTE, which was zero. */
static char *fill(char *memory, size_t bytes, char byte)
{
	for (size_t i = 0; i < bytes; i += 4096) {
		ck_assert_int_eq(memory[i], 0);
		memory[i] = byte;
	}
	return memory;
}

static char *map(size_t bytes)
{
	char *memory = system_map(bytes);

	ck_assert_ptr_ne(memory, NULL);
	ck_assert(region_has(memory) && region_has(memory + bytes - 1));
	return memory;
}

START_TEST(all_of_it_and_no_more)
{
	size_t count = BYTES / (1 << 20);
	char *all[BYTES / (1 << 20)], *last;

	for (size_t i = 0; i < count; i++)
		all[i] = fill(map(1 << 20), 1 << 20, 1);
	ck_assert_uint_eq(region_free_bytes(), 0);
	ck_assert_ptr_eq(system_map(1), NULL);
	ck_assert_int_eq(region_mmap(BYTES + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 -ENOMEM);
	ck_assert_int_eq(region_mmap(SIZE_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 -ENOMEM);
	ck_assert_int_eq(region_mmap(0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), -EINVAL);
	last = all[count / 2];
	system_unmap(last, 1 << 20);
	ck_assert_ptr_eq(fill(map(1 << 20), 1 << 20, 1), last);
	for (size_t i = 0; i < count; i++)
		system_unmap(all[i], 1 << 20);
	fill(map(BYTES), BYTES, 1);
	ck_assert_ptr_eq(system_map(1), NULL);
}
END_TEST

/* Pieces of all sizes, freed in another order and in parts, are one range again. */
START_TEST(coalesces)
{
	struct {
		char *memory;
		size_t bytes;
	} all[500];
	unsigned int seed = 7;

	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < 500; i++) {
			all[i].bytes = 1 + (size_t)rand_r(&seed) % (BYTES / 1000);
			all[i].memory = fill(map(all[i].bytes), all[i].bytes, 1);
		}
		for (size_t i = 0; i < 500; i++) {
			size_t n = i * 7 % 500, half = all[n].bytes / 2 & -UNIT;

			if (half)
				system_unmap(all[n].memory, half);
			system_unmap(all[n].memory + half, all[n].bytes - half);
		}
		ck_assert_uint_eq(region_free_bytes(), BYTES);
	}
	fill(map(BYTES), BYTES, 1);
}
END_TEST

/* Unallocated memory cannot be read. */
START_TEST(no_access_to_what_is_free)
{
	char *memory = fill(map(2 * UNIT), 2 * UNIT, 1), byte;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], memory, 1), 1);
	system_unmap(memory, UNIT);
	ck_assert(write(ends[1], memory, 1) == -1 && errno == EFAULT);
	ck_assert_int_eq(write(ends[1], memory + UNIT, 1), 1);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
}
END_TEST

START_TEST(grows_where_it_is)
{
	char *memory = fill(map(UNIT), UNIT, 1), *next;

	ck_assert(region_resize(memory, UNIT, 3 * UNIT));
	fill(memory + UNIT, 2 * UNIT, 2);
	next = map(UNIT);
	ck_assert_ptr_eq(next, memory + 3 * UNIT);
	ck_assert(!region_resize(memory, 3 * UNIT, 4 * UNIT));
	ck_assert(!region_resize(memory, 3 * UNIT, BYTES + UNIT));
	ck_assert(region_resize(memory, 3 * UNIT, UNIT));
	ck_assert_int_eq(memory[0], 1);
	ck_assert_uint_eq(region_free_bytes(), BYTES - 2 * UNIT);
	fill(map(2 * UNIT), 2 * UNIT, 1);
}
END_TEST

/* A file is mapped there, and nothing of it is left afterwards. */
START_TEST(files)
{
	int fd = memfd_create("ones", 0);
	char ones[4096], *memory;

	memset(ones, 1, sizeof(ones));
	for (size_t i = 0; i < 2 * UNIT / sizeof(ones); i++)
		ck_assert_int_eq(write(fd, ones, sizeof(ones)), sizeof(ones));
	memory = (char *)region_mmap(UNIT + 1, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert(region_has(memory));
	ck_assert(memory[0] == 1 && memory[UNIT] == 1);
	region_unmap(memory, UNIT + 1);
	ck_assert_int_eq(region_mmap(UNIT, PROT_READ, MAP_SHARED, fd, 1), -EINVAL);
	ck_assert_int_eq(region_mmap(UNIT, PROT_READ, MAP_SHARED, -1, 0), -EBADF);
	ck_assert_uint_eq(region_free_bytes(), BYTES);
	ck_assert_ptr_eq(fill(map(2 * UNIT), 2 * UNIT, 2), memory);
	ck_assert_int_eq(pread(fd, ones, 1, 0), 1);
	ck_assert_int_eq(ones[0], 1);
}
END_TEST

static void *map_and_unmap(void *number)
{
	unsigned int seed = (unsigned int)(uintptr_t)number;
	char *held[HELD] = { NULL }, byte = (char)(uintptr_t)number;
	size_t bytes[HELD];

	for (size_t round = 0; round < ROUNDS; round++) {
		size_t i = (size_t)rand_r(&seed) % HELD;

		if (held[i]) {
			for (size_t at = 0; at < bytes[i]; at += 4096)
				ck_assert_int_eq(held[i][at], byte);
			system_unmap(held[i], bytes[i]);
			held[i] = NULL;
			continue;
		}
		bytes[i] = 1 + (size_t)rand_r(&seed) % (20 * UNIT);
		held[i] = fill(map(bytes[i]), bytes[i], byte);
	}
	for (size_t i = 0; i < HELD; i++)
		if (held[i])
			system_unmap(held[i], bytes[i]);
	return NULL;
}

START_TEST(by_many_threads)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, map_and_unmap, (void *)(i + 1)),
				 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(region_free_bytes(), BYTES);
	fill(map(BYTES), BYTES, 1);
}
END_TEST

static atomic_bool over;

static void *map_until_over(void *unused)
{
	while (!atomic_load(&over))
		system_unmap(map(3 * UNIT), 3 * UNIT);
	return unused;
}

/* A child continues with its memory; a thread of the parent may be in a call at that moment. */
START_TEST(forks)
{
	char *ours = fill(map(UNIT), UNIT, 1);
	pthread_t thread;
	int status;

	ck_assert_int_eq(pthread_create(&thread, NULL, map_until_over, NULL), 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		if (!child) {
			bool right = ours[0] == 1;

			system_unmap(ours, UNIT);
			for (int n = 0; n < 20 && right; n++)
				right = system_map(UNIT);
			_exit(!right || region_free_bytes() < BYTES - 30 * UNIT);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(ours[0], 1);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(region_free_bytes(), BYTES - UNIT);
}
END_TEST

static long status_kb(const char *name)
{
	char line[256];
	long kb = -1;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, name, strlen(name)))
			kb = atol(line + strlen(name));
	if (status)
		fclose(status);
	return kb;
}

START_TEST(none_resident)
{
	long before = status_kb("VmRSS:");

	map(BYTES / 2);
	ck_assert_int_lt(status_kb("VmRSS:"), before + 1024);
}
END_TEST

/* mlockall(2) makes nothing of it resident, and does not count it. */
START_TEST(locked)
{
	char *used = map(UNIT);
	long before;

	if (ADDRESS_SANITIZED || THREAD_SANITIZED)
		return; /* which would lock its whole shadow */
	used[0] = 1;
	if (syscall(SYS_mlockall, MCL_CURRENT | MCL_FUTURE))
		return; /* more than a user may lock */
	before = status_kb("VmLck:");
	region_unlock();
	ck_assert_int_le(status_kb("VmLck:"), before - (long)(BYTES / 2 >> 10));
	before = status_kb("VmRSS:");
	for (int i = 0; i < 20; i++)
		system_unmap(fill(map(BYTES / 2), UNIT, 1), BYTES / 2);
	ck_assert_int_lt(status_kb("VmRSS:"), before + 1024);
	ck_assert_uint_eq(region_free_bytes(), BYTES - UNIT);
}
END_TEST

/* A user with exactly that limit: the kernel refuses new mappings, so pages are emptied. */
START_TEST(locked_under_a_limit)
{
	struct rlimit limit;

	if (ADDRESS_SANITIZED || THREAD_SANITIZED)
		return; /* which could map nothing more either */
	if (!geteuid() && setresuid(65534, 65534, 65534))
		return;
	limit.rlim_cur = limit.rlim_max = (rlim_t)status_kb("VmLck:") * 1024 + 65536;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_mlockall, MCL_FUTURE))
		return;
	region_unlock();
	for (int i = 0; i < 20; i++)
		system_unmap(fill(map(BYTES), UNIT, 1), BYTES);
	ck_assert_uint_eq(region_free_bytes(), BYTES);
}
END_TEST

/* The end can be released, for good or until the kernel has made a mapping. */
START_TEST(cut_and_restored)
{
	char *used = fill(map(UNIT), UNIT, 1), *other;
	long before = status_kb("VmSize:");
	size_t bytes;

	ck_assert_uint_eq(region_cut(BYTES), 0);
	bytes = region_cut(0);
	ck_assert_uint_eq(bytes, BYTES - UNIT);
	ck_assert_int_eq(status_kb("VmSize:"), before - (long)(bytes >> 10));
	ck_assert_ptr_eq(system_map(1), NULL);
	region_restore(bytes);
	ck_assert_int_eq(status_kb("VmSize:"), before);
	system_unmap(fill(map(bytes), bytes, 1), bytes);

	/* Other code has mapped there. */
	bytes = region_cut(BYTES / 2);
	ck_assert_uint_eq(bytes, BYTES / 2);
	other = mmap(used + BYTES - UNIT, UNIT, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	other[0] = 7;
	region_restore(bytes);
	ck_assert_int_eq(other[0], 7);
	ck_assert_uint_eq(region_free_bytes(), BYTES / 2 - UNIT);
	ck_assert_int_eq(used[0], 1);
}
END_TEST

START_TEST(small_under_a_limit)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	static const struct {
		uint64_t limit_mib, mib;
	} cases[] = { { 1 << 20, 1024 }, { 16384, 1024 }, { 2048, 128 }, { 320, 24 }, { 64, 16 } };

	if (ADDRESS_SANITIZED || THREAD_SANITIZED)
		return; /* whose own address space is larger */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		limit.rlim_cur = cases[i].limit_mib << 20;
		ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
		ck_assert_int_eq(region_begin(REGION_BYTES), 0);
		ck_assert_uint_le(shared->region.bytes, cases[i].mib << 20);
		ck_assert_uint_ge(shared->region.bytes, (cases[i].mib << 20) * 9 / 10);
		munmap((void *)shared->region.start, shared->region.bytes);
	}
	limit.rlim_cur = 8192;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_int_eq(region_begin(REGION_BYTES), -ENOMEM);
}
END_TEST

START_TEST(smaller_under_a_later_limit)
{
	region_limit((size_t)64 << 20);
	ck_assert_uint_eq(region_free_bytes(), 16u << 20);
	ck_assert(region_has_room_for_stacks(4 << 20));
	region_limit((size_t)640 << 20);
	ck_assert_uint_eq(region_free_bytes(), 16u << 20);
}
END_TEST

START_TEST(signal_stacks_leave_a_quarter)
{
	char *all[BYTES >> 20];
	size_t count = 0;

	while (region_has_room_for_stacks(1 << 20))
		all[count++] = map(1 << 20);
	ck_assert_uint_eq(region_free_bytes(), BYTES / 4);
	while (count)
		system_unmap(all[--count], 1 << 20);
}
END_TEST

START_TEST(none_reserved)
{
	char *memory = system_map(UNIT);

	ck_assert_ptr_ne(memory, NULL);
	ck_assert(!region_has(memory) && !region_has(NULL));
	ck_assert_uint_eq(region_cut(0), 0);
	region_restore(0);
	region_unlock();
	region_limit(1);
	system_unmap(fill(memory, UNIT, 1), UNIT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region");
	TCase *all = tcase_create("all"), *none = tcase_create("none");

	tcase_add_checked_fixture(all, set_up, NULL);
	tcase_set_timeout(all, 120);
	tcase_add_test(all, all_of_it_and_no_more);
	tcase_add_test(all, coalesces);
	tcase_add_test(all, no_access_to_what_is_free);
	tcase_add_test(all, grows_where_it_is);
	tcase_add_test(all, files);
	tcase_add_test(all, by_many_threads);
	tcase_add_test(all, forks);
	tcase_add_test(all, none_resident);
	tcase_add_test(all, locked);
	tcase_add_test(all, locked_under_a_limit);
	tcase_add_test(all, cut_and_restored);
	tcase_add_test(all, smaller_under_a_later_limit);
	tcase_add_test(all, signal_stacks_leave_a_quarter);
	suite_add_tcase(suite, all);
	tcase_add_test(none, none_reserved);
	tcase_add_test(none, small_under_a_limit);
	suite_add_tcase(suite, none);
	return suite_run_all(suite);
}
