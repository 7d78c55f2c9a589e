/* engine/memory/mem.c: a sample is reported once, and freed memory is not retained. */
#include "engine/memory/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent_phase.h"
#include "core/shared.h"
#include "core/system.h"
#include "engine/memory/mem_readers.h"
#include "test/fixtures/suite.h"

#define CALLER ((const void *)0x401000)

/* A port that unwinds to a stack set by the test, and counts. */
static uintptr_t stack[3] = { 0x9999, 0x401000, 0x402000 };
static size_t stack_depth = 3;
static bool no_room;
static _Atomic size_t allocations, frees, refusals, growths;
static struct mem_allocation last_allocated, last_freed;
static uint64_t allocated_ticks, freed_ticks;
static uintptr_t last_pcs[3];
static size_t last_depth;
static bool last_truncated;

static uintptr_t *borrow(void)
{
	static __thread uintptr_t pcs[MEM_STACK_DEPTH_MAX];

	return no_room ? NULL : pcs;
}

static void give_back(uintptr_t *pcs)
{
	(void)pcs;
}

static size_t unwind(uintptr_t *pcs, size_t max, bool *truncated)
{
	(void)max;
	errno = EPERM; /* the program must not see this value */
	memcpy(pcs, stack, sizeof(stack));
	*truncated = false;
	return stack_depth;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void allocated(const void *p, uint64_t ticks, const struct mem_allocation *a,
		      const uintptr_t *pcs, size_t depth, bool truncated)
{
	(void)p;
	pthread_mutex_lock(&lock);
	allocated_ticks = ticks;
	allocations++;
	last_allocated = *a;
	last_depth = depth;
	last_truncated = truncated;
	memcpy(last_pcs, pcs, (depth < 3 ? depth : 3) * sizeof(*pcs));
	pthread_mutex_unlock(&lock);
}

static void freed(const void *p, uint64_t ticks, const struct mem_allocation *a)
{
	(void)p;
	pthread_mutex_lock(&lock);
	freed_ticks = ticks;
	frees++;
	last_freed = *a;
	pthread_mutex_unlock(&lock);
}

static void refused(size_t size, const uintptr_t *pcs, size_t depth)
{
	(void)size;
	(void)pcs;
	(void)depth;
	refusals++;
}

static void grown(void)
{
	growths++;
}

static const struct mem_port port = {
	.borrow = borrow,
	.give_back = give_back,
	.unwind = unwind,
	.allocated = allocated,
	.freed = freed,
	.refused = refused,
	.grown = grown,
};

static void start(uint64_t interval, uint64_t growth_permil)
{
	struct mem_config config = { .interval = interval,
				     .growth_permil = growth_permil,
				     .port = &port };

	ck_assert_int_eq(mem_start(&config), 0);
}

/* As in the interposer, with an allocator that returns P. */
static bool allocate(const void *p, size_t size)
{
	bool sampled;

	if (!mem_looks() || mem_sample_passes(size))
		return true;
	if (!mem_on_alloc_begin(size, CALLER, &sampled))
		return false;
	mem_on_alloc_end((void *)(uintptr_t)p, size, CALLER, sampled);
	return true;
}

static void release(const void *p)
{
	if (mem_looks() && mem_table_watches(p))
		mem_on_free(p);
}

static const void *at(uintptr_t i)
{
	return (const void *)(0x7f0000000010u + i * 48);
}

static struct mem_retained only;

static void keep_only(void *context, const struct mem_retained *r)
{
	(void)context;
	only = *r;
}

static struct mem_summary collect(void)
{
	struct mem_summary summary;

	memset(&only, 0, sizeof(only));
	mem_collect(keep_only, NULL, &summary);
	return summary;
}

START_TEST(from_birth_to_death)
{
	struct mem_summary s;

	start(0, MEM_OFF);
	errno = 0;
	allocate(at(1), 100);
	allocate(at(2), 50);
	ck_assert_int_eq(errno, 0);
	ck_assert_uint_eq(allocations, 2);
	/* The agent's frames are removed, and the first pc is in the call. */
	ck_assert_uint_eq(last_depth, 2);
	ck_assert_uint_eq(last_pcs[0], 0x401000 - 1);
	ck_assert_uint_eq(last_pcs[1], 0x402000);
	ck_assert(!last_truncated);
	release(at(1));
	ck_assert_uint_eq(frees, 1);
	ck_assert_uint_eq(last_freed.size, 100);
	ck_assert_uint_eq(last_freed.weight, 100);
	release(at(1));
	ck_assert_uint_eq(frees, 1);
	s = collect();
	ck_assert_uint_eq(s.count, 1);
	ck_assert_uint_eq(s.bytes, 50);
	ck_assert_uint_eq(s.lost + s.evicted + s.lost_stacks, 0);
	ck_assert_uint_eq(only.bytes, 50);
	ck_assert_uint_eq(only.oldest, last_allocated.birth);
	ck_assert_uint_eq(only.totals.allocated_bytes, 150);
	ck_assert_uint_eq(only.totals.freed_bytes, 100);
	ck_assert_uint_eq(only.totals.freed_count, 1);
	ck_assert_uint_eq(only.depth, 2);
}
END_TEST

START_TEST(a_walk_that_fails_still_names_the_caller)
{
	start(0, MEM_OFF);
	stack_depth = 1;
	allocate(at(1), 100);
	ck_assert_uint_eq(last_depth, 1);
	ck_assert_uint_eq(last_pcs[0], 0x401000 - 1);
	ck_assert(last_truncated);
}
END_TEST

/* Freed in a way that the agent does not see, and reused. */
START_TEST(an_unseen_free_heals)
{
	struct mem_summary s;

	start(0, MEM_OFF);
	allocate(at(1), 100);
	allocate(at(1), 30);
	s = collect();
	ck_assert_uint_eq(s.bytes, 30);
	ck_assert_uint_eq(s.totals.freed_bytes, 100);
}
END_TEST

static void move(const void *from, const void *to, size_t size, uint64_t growth)
{
	struct mem_resize resize;

	ck_assert(mem_on_realloc_begin(from, &resize));
	mem_on_realloc_end(from, (void *)(uintptr_t)to, size, growth, &resize, CALLER);
}

START_TEST(a_resized_one_lives_on)
{
	struct mem_resize resize;
	uint64_t birth;

	start(0, MEM_OFF);
	allocate(at(1), 100);
	birth = last_allocated.birth;
	move(at(1), at(2), 300, 200);
	ck_assert_uint_eq(frees, 1);
	ck_assert_uint_eq(allocations, 2);
	ck_assert_uint_eq(last_allocated.birth, birth);
	ck_assert_uint_eq(last_allocated.size, 300);
	ck_assert(!mem_on_realloc_begin(at(1), &resize));
	collect();
	ck_assert_uint_eq(only.bytes, 300);
	ck_assert_uint_eq(only.oldest, birth);
	/* The call failed: nothing has changed. */
	move(at(2), NULL, 1000, 700);
	ck_assert_uint_eq(allocations, 2);
	collect();
	ck_assert_uint_eq(only.bytes, 300);
	/* realloc(p, 0) frees. */
	move(at(2), NULL, 0, 0);
	ck_assert_uint_eq(frees, 2);
	ck_assert_uint_eq(collect().bytes, 0);
}
END_TEST

/* Such a call may be one of many for a few bytes each. Its events would take more time than the call. */
START_TEST(a_small_resize_in_place_has_no_events)
{
	start(1, MEM_OFF);
	allocate(at(1), 1000);
	move(at(1), at(1), 1010, 10);
	ck_assert_uint_eq(allocations, 1);
	ck_assert_uint_eq(frees, 0);
	ck_assert_uint_eq(collect().totals.allocated_bytes, 1010);
	ck_assert_uint_eq(only.bytes, 1010);
	move(at(1), at(1), 990, 0);
	ck_assert_uint_eq(collect().totals.freed_bytes, 20);
	ck_assert_uint_eq(only.bytes, 990);
	move(at(1), at(2), 1000, 10);
	ck_assert_uint_eq(allocations, 2);
	move(at(2), at(2), 2000, 1000);
	ck_assert_uint_eq(allocations, 3);
	ck_assert_uint_eq(frees, 2);
	release(at(2));
	ck_assert_uint_eq(frees, 3);
	ck_assert_uint_eq(collect().bytes, 0);
	ck_assert_uint_eq(collect().totals.allocated_bytes, collect().totals.freed_bytes);
	/* With the interval 0, each call was asked for. */
	start(0, MEM_OFF);
	allocate(at(1), 1000);
	move(at(1), at(1), 1001, 1);
	ck_assert_uint_eq(frees, 4);
}
END_TEST

/* The real realloc frees the old place; a thread that gets it may be sampled before realloc
 * returns. */
START_TEST(the_old_place_is_free_before_others_get_it)
{
	struct mem_resize resize;
	uint64_t others;

	start(0, MEM_OFF);
	allocate(at(1), 100);
	ck_assert(mem_on_realloc_begin(at(1), &resize));
	allocate(at(1), 50);
	others = allocated_ticks;
	mem_on_realloc_end(at(1), (void *)(uintptr_t)at(2), 300, 200, &resize, CALLER);
	ck_assert_uint_eq(last_freed.size, 100);
	ck_assert_uint_lt(freed_ticks, others);
	ck_assert_uint_ge(allocated_ticks, others);
	collect();
	ck_assert_uint_eq(only.bytes, 350);
}
END_TEST

START_TEST(losses_are_counted)
{
	struct mem_summary s;
	const size_t n = MEM_TABLE_MAX * 2;

	start(0, MEM_OFF);
	no_room = true;
	allocate(at(1), 100);
	no_room = false;
	for (size_t i = 0; i < n; i++)
		allocate(at(i), 16);
	s = collect();
	ck_assert_uint_eq(s.lost, 1);
	ck_assert_uint_gt(s.evicted, 0);
	ck_assert_uint_eq(s.evicted_bytes, s.evicted * 16);
	ck_assert_uint_eq(s.bytes + s.evicted_bytes, n * 16);
	ck_assert_uint_eq(s.totals.allocated_bytes, n * 16);
}
END_TEST

/* The block lives on, but is not tracked any more. */
START_TEST(a_resize_while_readers_are_excluded)
{
	struct mem_resize resize;
	struct mem_summary s;

	start(0, MEM_OFF);
	allocate(at(1), 100);
	ck_assert(mem_readers_exclude());
	ck_assert(!mem_on_realloc_begin(at(1), &resize));
	ck_assert(!mem_on_realloc_begin(at(2), &resize));
	mem_readers_admit();
	s = collect();
	ck_assert_uint_eq(s.bytes, 0);
	ck_assert_uint_eq(s.lost, 1);
}
END_TEST

/* During a realloc another allocation takes its slot in the table; if the realloc fails, it needs a
 * slot again. */
START_TEST(a_failed_resize_may_push_out)
{
	const size_t n = MEM_TABLE_MAX * 2;
	struct mem_resize resize;
	struct mem_summary s;
	size_t resized = 0;

	start(0, MEM_OFF);
	for (size_t i = 0; i < n; i++)
		allocate(at(i), 16);
	for (size_t i = 0; i < n; i += 2) {
		if (!mem_on_realloc_begin(at(i), &resize))
			continue;
		resized++;
		allocate(at(n + i), 16);
		mem_on_realloc_end(at(i), NULL, 32, 16, &resize, CALLER);
	}
	s = collect();
	ck_assert_uint_gt(resized, 0);
	ck_assert_uint_eq(s.bytes + s.evicted_bytes, s.totals.allocated_bytes);
}
END_TEST

START_TEST(stopped_and_started_again)
{
	start(0, MEM_OFF);
	allocate(at(1), 100);
	mem_stop();
	allocate(at(2), 100);
	release(at(1));
	ck_assert_uint_eq(allocations, 1);
	ck_assert_uint_eq(frees, 0);
	ck_assert_uint_eq(collect().bytes, 0);
	mem_thread.left = 0; /* otherwise this thread would check later */
	start(0, MEM_OFF);
	allocate(at(3), 70);
	ck_assert_uint_eq(collect().bytes, 70);
	start(0, MEM_OFF);
	ck_assert_uint_eq(collect().bytes, 0);
	release(at(3));
	ck_assert_uint_eq(frees, 0);
}
END_TEST

static void start_early(uint64_t interval)
{
	struct mem_config config = { .interval = interval,
				     .growth_permil = MEM_OFF,
				     .port = &port };

	mem_start_early(&config);
}

static _Atomic bool is_reading, has_ended;

/* A thread that the kernel suspends within a call of the allocator: for 300 ms, or until has_ended is set. */
static void *read_long(void *until_end)
{
	struct mem_resize resize;

	ck_assert(mem_on_realloc_begin(at(1), &resize));
	is_reading = true;
	do
		system_sleep(300000000);
	while (until_end && !has_ended);
	mem_on_realloc_end(at(1), (void *)(uintptr_t)at(1), 100, 0, &resize, CALLER);
	return NULL;
}

static pthread_t start_read_long(bool until_end)
{
	pthread_t thread;

	start(0, MEM_OFF);
	allocate(at(1), 100);
	is_reading = has_ended = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, read_long, until_end ? &thread : NULL), 0);
	while (!is_reading)
		system_yield();
	return thread;
}

START_TEST(a_start_waits_for_a_suspended_thread)
{
	pthread_t thread = start_read_long(false);

	start(0, MEM_OFF);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_start_does_not_delay_the_end)
{
	struct mem_config config = { .interval = 0, .growth_permil = MEM_OFF, .port = &port };
	pthread_t thread = start_read_long(true);
	int err;

	atomic_store(&shared->agent.state, AGENT_STARTING | AGENT_STOP);
	err = mem_start(&config);
	atomic_store(&shared->agent.state, AGENT_NONE);
	has_ended = true;
	pthread_join(thread, NULL);
	ck_assert_int_eq(err, -ECANCELED);
}
END_TEST

START_TEST(early_samples_are_kept)
{
	start_early(0);
	ck_assert_uint_eq(collect().bytes, 0);
	allocate(at(1), 100);
	allocate(at(2), 50);
	release(at(2));
	start(0, MEM_OFF);
	allocate(at(3), 7);
	ck_assert_uint_eq(allocations, 3);
	ck_assert_uint_eq(frees, 1);
	ck_assert_uint_eq(collect().bytes, 107);
	ck_assert_uint_eq(collect().totals.allocated_bytes, 157);
	start(0, MEM_OFF); /* only the first start continues */
	ck_assert_uint_eq(collect().bytes, 0);
}
END_TEST

START_TEST(an_early_start_without_samples_is_continued)
{
	start_early(1u << 30);
	start(1u << 30, MEM_OFF);
	ck_assert_uint_eq(collect().bytes, 0);
	start(0, MEM_OFF);
	mem_thread.left = 0;
	allocate(at(1), 100);
	ck_assert_uint_eq(collect().bytes, 100);
}
END_TEST

START_TEST(early_samples_of_another_interval_are_dropped)
{
	start_early(0);
	allocate(at(1), 100);
	start(1, MEM_OFF);
	ck_assert_uint_eq(collect().bytes, 0);
	release(at(1));
	ck_assert_uint_eq(frees, 0);
}
END_TEST

START_TEST(early_sampling_can_be_stopped)
{
	start_early(0);
	allocate(at(1), 100);
	mem_stop();
	allocate(at(2), 100);
	ck_assert_uint_eq(allocations, 1);
	start(0, MEM_OFF);
	ck_assert_uint_eq(collect().bytes, 0);
}
END_TEST

START_TEST(a_child_starts_early_with_nothing)
{
	start(0, MEM_OFF);
	allocate(at(1), 100);
	mem_fork_child();
	start_early(0);
	release(at(1));
	ck_assert_uint_eq(frees, 0); /* it is not in the child's recording */
	allocate(at(2), 50);
	start(0, MEM_OFF);
	ck_assert_uint_eq(collect().bytes, 50);
	ck_assert_uint_eq(collect().totals.allocated_bytes, 50);
}
END_TEST

/* The sum over many starts, as each has a few samples: 4,000 of them. */
START_TEST(early_totals_are_unbiased)
{
	const uint64_t size = 100, each = 100, starts = 400, interval = 1000;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < starts; i++) {
		mem_stop();
		/* As in a new process: the thread has spent nothing. */
		mem_thread.interval = mem_thread.debt_ns = mem_thread.spent_ns = 0;
		for (uint64_t n = 0; n < each; n++)
			allocate(at(n), size); /* counted down, but not sampled */
		start_early(interval);
		for (uint64_t n = 0; n < each; n++)
			allocate(at(n), size);
		if (i % 2)
			start(interval, MEM_OFF);
		for (uint64_t n = 0; n < each; n++)
			allocate(at(n), size);
		sum += collect().totals.allocated_bytes;
	}
	ck_assert_uint_ge(sum, 2 * size * each * starts * 9 / 10);
	ck_assert_uint_le(sum, 2 * size * each * starts * 11 / 10);
}
END_TEST

START_TEST(refuses_from_the_limit_on)
{
	mem_limit(1000, &port);
	for (int sampling = 0; sampling < 2; sampling++) {
		if (sampling)
			start(1u << 30, MEM_OFF);
		refusals = allocations = 0;
		ck_assert(allocate(at(1), 999));
		ck_assert(!allocate(at(2), 1000));
		ck_assert(!allocate(at(2), SIZE_MAX));
		ck_assert_uint_eq(refusals, 2);
		ck_assert_uint_eq(allocations, 2); /* recorded */
		ck_assert_uint_eq(last_allocated.weight, 0);
		ck_assert_uint_eq(last_allocated.size, SIZE_MAX);
	}
	ck_assert_uint_eq(collect().bytes, 0);
}
END_TEST

/* The C library refuses such a size. */
START_TEST(refuses_nothing_without_a_limit)
{
	start(1u << 30, MEM_OFF);
	refusals = 0;
	allocate(at(1), SIZE_MAX);
	ck_assert_uint_eq(refusals, 0);
}
END_TEST

START_TEST(looks_once_somebody_wants_it)
{
	ck_assert(!mem_looks());
	start(0, MEM_OFF);
	mem_stop();
	ck_assert(mem_looks()); /* entries of the table may be freed */
}
END_TEST

START_TEST(growth_is_told_once)
{
	const size_t mib = 1u << 20;

	start(0, 100);
	allocate(at(0), 100 * mib);
	ck_assert_uint_eq(growths, 0); /* there is no base to compare with */
	ck_assert(!collect().grown);
	allocate(at(1), 9 * mib);
	collect();
	ck_assert_uint_eq(growths, 0);
	allocate(at(2), 2 * mib); /* slowly, over two reports: 11% */
	allocate(at(3), 50 * mib);
	ck_assert_uint_eq(growths, 1);
	ck_assert(collect().grown);
	ck_assert(!collect().grown);
	allocate(at(4), 15 * mib); /* of 161 */
	ck_assert_uint_eq(growths, 1);
	allocate(at(5), 3 * mib);
	ck_assert_uint_eq(growths, 2);
}
END_TEST

/* Threads allocate at random and free what others allocated; in the end all is freed. */
#define THREADS   4
#define PASSED_ON 256

static _Atomic uintptr_t passed_on[PASSED_ON];
static _Atomic uintptr_t next_address = 0x7e0000000000;

static void *churn(void *seed)
{
	unsigned random = (unsigned)(uintptr_t)seed;
	struct mem_resize resize;

	for (int i = 0; i < 20000; i++) {
		uintptr_t p = atomic_fetch_add(&next_address, 32), old, moved;

		allocate((void *)p, 16 + (size_t)rand_r(&random) % 1000);
		if (i % 7 == 0 && mem_table_watches((void *)p) &&
		    mem_on_realloc_begin((void *)p, &resize)) {
			moved = atomic_fetch_add(&next_address, 32);
			mem_on_realloc_end((void *)p, (void *)moved, resize.was.size * 2,
					   resize.was.size, &resize, CALLER);
			p = moved;
		}
		old = atomic_exchange(&passed_on[(unsigned)rand_r(&random) % PASSED_ON], p);
		if (old)
			release((void *)old);
	}
	return NULL;
}

static const uint64_t churn_intervals[] = { 0, 500, 65536 };

START_TEST(nothing_freed_is_retained)
{
	pthread_t thread[THREADS];
	struct mem_summary s;

	start(churn_intervals[_i], 10);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert(!pthread_create(&thread[i], NULL, churn, (void *)i));
	for (int i = 0; i < 200; i++)
		collect();
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < PASSED_ON; i++)
		if (passed_on[i])
			release((void *)passed_on[i]);
	s = collect();
	ck_assert_uint_eq(s.bytes, 0);
	ck_assert_uint_eq(s.evicted, 0);
	ck_assert_uint_eq(s.lost, 0);
	ck_assert_uint_eq(s.totals.allocated_bytes, s.totals.freed_bytes);
	ck_assert_uint_eq(allocations, frees);
	ck_assert_uint_gt(allocations, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, from_birth_to_death);
	tcase_add_test(tcase, a_walk_that_fails_still_names_the_caller);
	tcase_add_test(tcase, an_unseen_free_heals);
	tcase_add_test(tcase, a_resized_one_lives_on);
	tcase_add_test(tcase, a_small_resize_in_place_has_no_events);
	tcase_add_test(tcase, the_old_place_is_free_before_others_get_it);
	tcase_add_test(tcase, losses_are_counted);
	tcase_add_test(tcase, a_resize_while_readers_are_excluded);
	tcase_add_test(tcase, a_failed_resize_may_push_out);
	tcase_add_test(tcase, stopped_and_started_again);
	tcase_add_test(tcase, a_start_waits_for_a_suspended_thread);
	tcase_add_test(tcase, a_start_does_not_delay_the_end);
	tcase_add_test(tcase, early_samples_are_kept);
	tcase_add_test(tcase, an_early_start_without_samples_is_continued);
	tcase_add_test(tcase, early_samples_of_another_interval_are_dropped);
	tcase_add_test(tcase, early_sampling_can_be_stopped);
	tcase_add_test(tcase, a_child_starts_early_with_nothing);
	tcase_add_test(tcase, early_totals_are_unbiased);
	tcase_add_test(tcase, refuses_from_the_limit_on);
	tcase_add_test(tcase, refuses_nothing_without_a_limit);
	tcase_add_test(tcase, looks_once_somebody_wants_it);
	tcase_add_test(tcase, growth_is_told_once);
	tcase_add_loop_test(tcase, nothing_freed_is_retained, 0, 3);
	return suite_run(tcase);
}
