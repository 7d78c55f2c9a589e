/* engine/collect/chunks: the times of chunks follow the wall clock when it is set. */
#include "engine/collect/chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/jfr/jfr_chunk.h"
#include "test/fixtures/suite.h"

#define SECOND INT64_C(1000000000)

/* The clock is set by STEP_NS during the first chunk. Returns the distance of the second chunk's start from the clock. */
static int64_t distance_after_step(int64_t step_ns)
{
	static const chunk_settings settings;
	int fd = memfd_create("chunks", MFD_CLOEXEC);
	struct chunks chunks;
	int64_t distance;

	ck_assert_int_eq(chunks_open(&chunks, fd, &settings, NULL, false), 0);
	ck_assert_int_eq(chunks_begin(&chunks), 0);
	chunks.opened_realtime_ns -= (uint64_t)step_ns;
	ck_assert_int_eq(chunks_end(&chunks, NULL, clock_ticks()), 0);
	ck_assert_int_eq(chunks_begin(&chunks), 0);
	distance = (int64_t)(clock_realtime_ns() - chunks.jfr->start_ns);
	chunks_close(&chunks);
	close(fd);
	return distance;
}

START_TEST(a_set_clock)
{
	ck_assert_int_lt(llabs(distance_after_step(3600 * SECOND)), 60 * SECOND);
	ck_assert_int_lt(llabs(distance_after_step(-3600 * SECOND)), 60 * SECOND);
}
END_TEST

/* The chunks stay next to each other. */
START_TEST(a_small_adjustment)
{
	int64_t distance = distance_after_step(-SECOND / 2);

	ck_assert_int_lt(distance, 0);
	ck_assert_int_ge(distance, -SECOND / 2);
}
END_TEST

/* The chunk of native memory is kept, and so is its writer. */
START_TEST(a_lost_chunk_of_samples)
{
	static const chunk_settings settings;
	int fd = memfd_create("chunks", MFD_CLOEXEC);
	struct chunks chunks;

	ck_assert_int_eq(chunks_open(&chunks, fd, &settings, &settings, false), 0);
	ck_assert(chunks_mem_is_apart(&chunks));
	ck_assert_int_eq(chunks_begin(&chunks), 0);
	chunks.jfr->out.err = -ENOSPC;
	ck_assert_int_eq(chunks_end(&chunks, NULL, clock_ticks()), -ENOSPC);
	ck_assert_int_gt(lseek(fd, 0, SEEK_END), 0);
	ck_assert_int_eq(chunks_begin(&chunks), 0);
	ck_assert(chunks_mem_is_apart(&chunks));
	ck_assert_int_eq(chunks_end(&chunks, NULL, clock_ticks()), 0);
	chunks_close(&chunks);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, a_set_clock);
	tcase_add_test(tests, a_small_adjustment);
	tcase_add_test(tests, a_lost_chunk_of_samples);
	return suite_run(tests);
}
