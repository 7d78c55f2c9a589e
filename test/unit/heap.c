/* Live allocations, and the effect of realloc. */

#include "profile/aggregate/heap.h"
#include "test/fixtures/suite.h"

static struct query query;
static struct heap heap;

static uint32_t stack_of(const char *leaf)
{
	struct frame frame = { .name = intern_string(&heap.profile.names, leaf),
			       .type = JFR_FRAME_NATIVE };
	uint32_t id = intern(&heap.profile.frames, &frame, sizeof(frame));

	return intern(&heap.profile.stacks, &id, sizeof(id));
}

static void setup(void)
{
	query = (struct query)QUERY_INIT;
	heap = (struct heap){ .query = &query, .profile = PROFILE_INIT, .want_stacks = true };
}

static void teardown(void)
{
	heap_free(&heap);
}

static void allocate(uint64_t address, int64_t time_ns, int64_t size, const char *leaf)
{
	struct allocation a = { .address = address,
				.time_ns = time_ns,
				.size = size,
				.scale = 1,
				.stack = stack_of(leaf),
				.thread = 1,
				.process = 1 };

	heap_on_malloc(&heap, &a);
}

static const struct allocation *only(void)
{
	ck_assert_uint_eq(heap.live, 1);
	for (uint32_t i = 0; i < heap.capacity; i++)
		if (heap.table[i].address)
			return &heap.table[i];
	return NULL;
}

START_TEST(pairs)
{
	/* Thousands of colliding ones, freed in another order; the right ones are left. */
	for (uint64_t i = 1; i <= 5000; i++)
		allocate(i * 16, (int64_t)i, 10, "malloc");
	for (uint64_t i = 5000; i >= 1; i--)
		if (i % 1000)
			heap_on_free(&heap, i * 16, 1, 9000, 1);
	ck_assert_uint_eq(heap.live, 5);
	heap_on_free(&heap, 16, 1, 9001, 1);    /* twice, or never allocated: no effect */
	heap_on_free(&heap, 16000, 2, 9001, 1); /* another process's */
	ck_assert_uint_eq(heap.live, 5);
	for (uint64_t i = 1000; i <= 5000; i += 1000)
		heap_on_free(&heap, i * 16, 1, 9002, 1);
	ck_assert_uint_eq(heap.live, 0);
}
END_TEST

START_TEST(realloc_lives_on)
{
	allocate(0x1000, 5000, 64, "malloc");
	heap_on_free(&heap, 0x1000, 1, 900000000, 1);
	allocate(0x2000, 900000100, 128, "realloc_hook");
	ck_assert_int_eq(only()->birth_ns, 5000);
	ck_assert_int_eq(only()->size, 128);
	/* The first allocation is not counted as freed. */
	ck_assert(heap.stacks[stack_of("malloc")].allocated == 0);
	ck_assert(heap.stacks[stack_of("realloc_hook")].allocated == 1);
}
END_TEST

START_TEST(malloc_is_no_realloc)
{
	allocate(0x1000, 5000, 64, "malloc");
	heap_on_free(&heap, 0x1000, 1, 900000000, 1);
	allocate(0x2000, 900000100, 128, "malloc");
	ck_assert_int_eq(only()->birth_ns, 900000100);
	/* Lived 0.9 s: below one second, the seventh power of ten. */
	ck_assert(heap.stacks[stack_of("malloc")].freed[6] == 1);
}
END_TEST

START_TEST(tail)
{
	heap.first_ns = 0;
	heap.last_ns = 1000;
	allocate(0x1000, 850, 64, "old");
	allocate(0x2000, 950, 64, "young");
	heap_add_to_profile(&heap, 0.1);
	ck_assert_uint_eq(heap.profile.count, 1);
	ck_assert_uint_eq(heap.profile.samples[0].stack, stack_of("old"));
}
END_TEST

/* More than the table has space for: the first part overflows; then 2, and then 4 parts have their
 * own addresses, and each address is in one part. */
START_TEST(parts)
{
	const uint64_t count = 400000;
	uint64_t seen = 0;
	double freed = 0;

	for (uint64_t i = 1; i <= count; i++)
		allocate(i * 48, (int64_t)i, 10, "malloc");
	ck_assert(heap.overflow);
	ck_assert_uint_lt(heap.live, count);
	for (heap.part_bits = 2; heap.part < 4; heap.part++) {
		heap_start_part(&heap);
		for (uint64_t i = 1; i <= count; i++)
			allocate(i * 48, (int64_t)i, 10, "malloc");
		for (uint64_t i = 1; i <= count; i += 2)
			heap_on_free(&heap, i * 48, 1, 1000000, 1);
		ck_assert(!heap.overflow);
		seen += heap.live;
	}
	ck_assert_uint_eq(seen, count / 2);
	/* Lifetimes are counted over all parts, once each. */
	ck_assert(heap.stacks[stack_of("malloc")].allocated == (double)count);
	for (unsigned i = 0; i < LIFE_BUCKETS; i++)
		freed += heap.stacks[stack_of("malloc")].freed[i];
	ck_assert(freed == (double)count / 2);
}
END_TEST

static struct held held_by[3]; /* added up, by process */

static void add_up(void *arg, const struct held *held)
{
	struct held *sum = &held_by[held->process];

	(void)arg;
	sum->count += held->count;
	sum->bytes += held->bytes;
	sum->grown += held->grown;
	sum->growth_ns = held->growth_ns;
	if (held->count > 0)
		sum->age_ns = held->age_ns;
}

static void add_up_all(void)
{
	memset(held_by, 0, sizeof(held_by));
	heap_visit_held(&heap, add_up, NULL);
}

static void allocate_in(uint32_t process, uint64_t address, int64_t time_ns, int64_t size)
{
	struct allocation a = { .address = address,
				.time_ns = time_ns,
				.size = size,
				.scale = 1,
				.stack = stack_of("malloc"),
				.process = process };

	heap_on_malloc(&heap, &a);
}

/* PROCESS is recorded from FIRST_NS to LAST_NS. */
static struct heap_process *process(uint32_t process, int64_t first_ns, int64_t last_ns)
{
	struct heap_process *p = heap_get_process(&heap, process);

	ck_assert_ptr_nonnull(p);
	p->covered = true;
	p->first_ns = first_ns;
	p->last_ns = last_ns;
	return p;
}

static void state(struct heap_snapshot *s, int64_t time_ns, double bytes, int64_t oldest_ns)
{
	s->rows = calloc(1, sizeof(*s->rows));
	ck_assert_ptr_nonnull(s->rows);
	s->rows[0] = (struct retained){ stack_of("malloc"), oldest_ns, 1, bytes };
	s->count = s->capacity = 1;
	s->time_ns = time_ns;
	s->found = true;
}

/* An engine's table for a process replaces the events of that process only. */
START_TEST(statements_are_of_one_process)
{
	allocate_in(1, 0x1000, 100, 64);
	allocate_in(2, 0x1000, 100, 32);
	process(1, 0, 1000);
	state(&process(2, 0, 1000)->last, 1000, 7000, 10);
	add_up_all();
	ck_assert(held_by[1].count == 1 && held_by[1].bytes == 64);
	ck_assert(held_by[2].count == 1 && held_by[2].bytes == 7000);
}
END_TEST

/* A process that ended at 500 counts with its memory at that time, and its ages and growth are of
 * that time. */
START_TEST(ended_processes_count)
{
	allocate_in(1, 0x1000, 100, 64);
	allocate_in(1, 0x2000, 400, 16);
	allocate_in(2, 0x1000, 700, 32);
	heap_on_free(&heap, 0x1000, 2, 900, 1);
	process(1, 0, 500);
	process(2, 600, 100000);
	add_up_all();
	ck_assert(held_by[1].count == 2 && held_by[1].bytes == 80);
	ck_assert(held_by[1].grown == 16);
	ck_assert_int_eq(held_by[1].growth_ns, 250);
	ck_assert(held_by[1].age_ns == 100 || held_by[1].age_ns == 400);
	ck_assert(held_by[2].count == 0);
}
END_TEST

START_TEST(two_statements_tell_the_growth)
{
	struct heap_process *p = process(1, 0, 5000);

	allocate_in(1, 0x1000, 4000, 64); /* no growth but that of the tables */
	state(&p->first, 1000, 300, 10);
	state(&p->last, 4000, 900, 10);
	add_up_all();
	ck_assert(held_by[1].bytes == 900);
	ck_assert(held_by[1].grown == 600);
	ck_assert_int_eq(held_by[1].growth_ns, 3000);
	ck_assert_int_eq(held_by[1].age_ns, 3990);
}
END_TEST

/* With one table alone, the single events show the growth. */
START_TEST(growth_of_one_statement)
{
	struct heap_process *p = process(1, 0, 1000);

	allocate_in(1, 0x1000, 400, 64);
	allocate_in(1, 0x2000, 600, 16);
	state(&p->last, 1000, 900, 10);
	state(&p->first, 1000, 900, 10);
	add_up_all();
	ck_assert(held_by[1].bytes == 900 && held_by[1].count == 1);
	ck_assert(held_by[1].grown == 16);
}
END_TEST

START_TEST(scales)
{
	struct settings settings = { .mem_interval = 1000 };

	ck_assert(mem_scale(&settings, 100, 0) == 10);
	ck_assert(mem_scale(&settings, 5000, 0) == 1);
	ck_assert(mem_scale(&settings, 0, 0) == 1);
	ck_assert(mem_scale(&settings, 100, 400) == 4);
	settings.mem_interval = 0;
	ck_assert(mem_scale(&settings, 100, 0) == 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("heap");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, pairs);
	tcase_add_test(tcase, realloc_lives_on);
	tcase_add_test(tcase, malloc_is_no_realloc);
	tcase_add_test(tcase, tail);
	tcase_add_test(tcase, parts);
	tcase_add_test(tcase, statements_are_of_one_process);
	tcase_add_test(tcase, ended_processes_count);
	tcase_add_test(tcase, two_statements_tell_the_growth);
	tcase_add_test(tcase, growth_of_one_statement);
	tcase_add_test(tcase, scales);
	return suite_run(tcase);
}
