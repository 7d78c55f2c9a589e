/* Events of interleaved, overlapping runs are visited in the order of time. */
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/heap_order.h"
#include "test/fixtures/suite.h"

/* A chunk of events of one type: size, id, startTime. No metadata is needed to walk them. */
static struct jfr_field time_field = { .name = "startTime" };
static struct jfr_type long_type = { .shape = JFR_VARINT };
static struct jfr_type malloc_type = {
	.name = "profiler.Malloc",
	.kind = JFR_MALLOC,
	.fields = &time_field,
	.field_count = 1,
	.plan = { { .slot = JFR_TIME, .field = &time_field } },
	.plan_length = 1,
	.plan_bytes = 9,
};
static uint16_t by_id[8192];

#define EVENTS_MAX 300000

struct seen {
	int64_t last_time;
	uint64_t last_offset;
	size_t count, enough;
};

/* Check the order: by time, and equal times in the order of the chunk. */
static bool note(void *arg, const struct jfr_event *event)
{
	struct seen *seen = arg;
	int64_t time = event->slot[JFR_TIME];

	/* (Each ck_assert() writes to a file, and there are many events.) */
	if (time < seen->last_time ||
	    (time == seen->last_time && event->offset <= seen->last_offset))
		ck_abort_msg("%lld after %lld", (long long)time, (long long)seen->last_time);
	seen->last_time = time;
	seen->last_offset = event->offset;
	return ++seen->count != seen->enough;
}

/* Put TIMES into a chunk and merge them, until ENOUGH have been visited. */
static void check_merge_of(const unsigned *times, size_t count, uint32_t runs_expected,
			   size_t enough)
{
	static uint8_t bytes[68 + 4 * EVENTS_MAX];
	struct jfr_chunk chunk = {
		.data = bytes, .types = &malloc_type, .type_count = 1, .by_id = by_id
	};
	struct seen seen = { .last_time = -1, .enough = enough };
	struct runs runs;
	size_t at = 68;

	ck_assert_uint_le(count, EVENTS_MAX);
	time_field.type = &long_type;
	by_id[5] = 1;
	for (size_t i = 0; i < count; i++) {
		bytes[at++] = 4;
		bytes[at++] = 5;
		bytes[at++] = (uint8_t)(times[i] | 0x80);
		bytes[at++] = (uint8_t)(times[i] >> 7);
	}
	chunk.header.size = at;
	ck_assert_int_eq(runs_find(&runs, &chunk, JFR_MASK(JFR_MALLOC)), 0);
	if (runs_expected < RUNS_MAX)
		ck_assert_uint_eq(runs.count, runs_expected);
	ck_assert_int_eq(runs_merge(&runs, &chunk, JFR_MASK(JFR_MALLOC), note, &seen), 0);
	ck_assert_uint_le(runs.capacity, RUNS_MAX);
	runs_free(&runs);
	ck_assert_ptr_null(chunk.error.what);
	ck_assert_uint_eq(seen.count, enough < count ? enough : count);
}

static void check_merge(const unsigned *times, size_t count, uint32_t runs_expected)
{
	check_merge_of(times, count, runs_expected, SIZE_MAX);
}

START_TEST(merges)
{
	static const unsigned in_order[] = { 1, 2, 3, 4 };
	static const unsigned two[] = { 1, 4, 7, 2, 3, 9 };
	/* The second run begins during the first, and a third after it has ended. */
	static const unsigned pending[] = { 1, 2, 3, 10, 11, 12, 5, 6, 20, 4, 30 };
	static const unsigned backwards[] = { 9, 8, 7, 6, 5, 4, 3 };

	check_merge(in_order, 4, 1);
	check_merge(two, 6, 2);
	check_merge(pending, 11, 3);
	check_merge(backwards, 7, 7);
}
END_TEST

/* More runs at one time than there are buffers. */
START_TEST(many_runs)
{
	static unsigned times[2000];

	for (unsigned run = 0; run < 1000; run++) {
		times[2 * run] = 1000 - run;
		times[2 * run + 1] = 5000 + run;
	}
	check_merge(times, 2000, 1000);
}
END_TEST

START_TEST(random_runs)
{
	static unsigned times[3000];
	uint32_t state = 1;

	for (int round = 0; round < 50; round++) {
		uint32_t runs = 1;

		for (size_t i = 0; i < 3000; i++) {
			state = state * 1664525u + 1013904223u;
			times[i] = i && state >> 28 ? times[i - 1] + (state >> 16) % 9
						    : (state >> 8) % 9000;
			times[i] %= 16000;
			runs += i && times[i] < times[i - 1];
		}
		check_merge(times, 3000, runs);
	}
}
END_TEST

/* More events than are kept, so the chunk is read several times: with runs of one event, of three,
 * and all at one time. */
START_TEST(more_runs_than_are_kept)
{
	static unsigned times[EVENTS_MAX];

	for (size_t i = 0; i < EVENTS_MAX; i++)
		times[i] = (unsigned)(EVENTS_MAX - i) % 16384;
	check_merge(times, EVENTS_MAX, RUNS_MAX);
	check_merge_of(times, EVENTS_MAX, RUNS_MAX, EVENTS_MAX / 2);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		times[i] = (unsigned)(EVENTS_MAX - i) % 5000 + (unsigned)(i % 3) * 5000;
	check_merge(times, EVENTS_MAX, RUNS_MAX);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		times[i] = 7 + i % 2;
	check_merge(times, EVENTS_MAX, RUNS_MAX);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("merge");

	tcase_add_test(tcase, merges);
	tcase_add_test(tcase, many_runs);
	tcase_add_test(tcase, random_runs);
	tcase_add_test(tcase, more_runs_than_are_kept);
	return suite_run(tcase);
}
