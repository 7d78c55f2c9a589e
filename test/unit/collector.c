/* engine/collect/collector: samples of the rings become events, at most as many as a reader can
 * use. */
#include "engine/cfi/cfi_lookup.h"
#include "engine/collect/collector.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/modules/modules.h"
#include "engine/sample/ring.h"
#include "profile/jfr/jfr_read.h"
#include "test/fixtures/suite.h"

static struct wake wake;
static int fd;
static const chunk_settings none = { 0 };

static void open_recording(void)
{
	fd = memfd_create("recording", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ring_open(1, 64u << 10, &wake), 0);
	cfi_lookup_init();
	ck_assert_int_eq(modules_open(), 0);
	ck_assert_int_eq(collector_start(fd, &none, NULL, false), 0);
}

static void put_stack(const uintptr_t *pcs, size_t depth, uint32_t weight)
{
	struct sample *sample = ring_reserve_stack(0, SAMPLE_CPU, gettid(), pcs, depth, false);

	ck_assert_ptr_nonnull(sample);
	sample->weight = weight;
	ring_commit(sample);
}

static void put_sample(uint32_t weight)
{
	static const uintptr_t pcs[] = { 0x1000, 0x2000 };

	put_stack(pcs, 2, weight);
}

/* COUNT samples, each with a stack of DEPTH frames of its own, drained from the rings as they
 * arrive. */
static void put_different_stacks(unsigned count, size_t depth)
{
	uintptr_t pcs[SAMPLE_DEPTH_MAX];

	for (size_t i = 0; i < depth; i++)
		pcs[i] = 0x10000 + i;
	for (unsigned n = 0; n < count; n++) {
		pcs[0] = 0x1000000 + n;
		put_stack(pcs, depth, 1);
		if (n % 10)
			continue;
		collector_drain(clock_monotonic_ns());
		collector_split_if_full();
	}
}

/* Events of TYPE in the recording; *SUM is the sum of the values of FIELD. */
static unsigned count(const char *type, const char *field, uint64_t *sum)
{
	struct jfr_header header;
	struct jfr_error error;
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_scan scan;
	unsigned events = 0;
	struct stat status;
	uint8_t *file;

	*sum = 0;
	ck_assert_int_eq(fstat(fd, &status), 0);
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(file, MAP_FAILED);
	for (uint64_t at = 0; at < (uint64_t)status.st_size; at += header.size) {
		ck_assert_int_eq(
			jfr_header_read(&header, file, (uint64_t)status.st_size, at, &error), 0);
		ck_assert_int_eq(jfr_chunk_open(&chunk, file, &header), 0);
		jfr_scan_start(&scan, &chunk, ~0u);
		while (jfr_scan_next(&scan, &event)) {
			if (!event.type || strcmp(event.type->name, type))
				continue;
			events++;
			if (jfr_event_get_field(&chunk, &event, field, &value))
				*sum += (uint64_t)jfr_value_integer(&value);
		}
		jfr_chunk_close(&chunk);
	}
	munmap(file, (size_t)status.st_size);
	return events;
}

START_TEST(one_late_signal_writes_few_events)
{
	uint64_t late, unused;

	put_sample(1);
	put_sample(19523); /* two seconds with every signal blocked, at 100 us */
	ck_assert_int_eq(collector_rotate(), 0);
	put_sample(102);
	put_sample(3);
	ck_assert_int_eq(collector_stop(), 0);
	ck_assert_uint_eq(count("jdk.ExecutionSample", "", &unused), 1 + 100 + 100 + 3);
	ck_assert_uint_eq(count("asprof.Losses", "late", &late), 2);
	ck_assert_uint_eq(late, 19423 + 2);
	ck_assert_uint_eq(collector_samples(), 204);
	ck_assert_uint_eq(collector_lost(), late);
}
END_TEST

/* As after a pause. */
START_TEST(counts_begin_anew_with_each_start)
{
	struct engine_losses losses;

	put_sample(102);
	ck_assert_int_eq(collector_stop(), 0);
	ck_assert_uint_eq(collector_samples(), 100);
	ck_assert_uint_eq(collector_lost(), 2);
	ck_assert_int_eq(collector_start(fd, &none, NULL, false), 0);
	collector_losses(&losses);
	ck_assert_uint_eq(collector_samples(), 0);
	ck_assert_uint_eq(collector_lost(), 0);
	ck_assert_uint_eq(losses.late, 0);
	put_sample(101);
	ck_assert_int_eq(collector_stop(), 0);
	collector_losses(&losses);
	ck_assert_uint_eq(collector_samples(), 100);
	ck_assert_uint_eq(collector_lost(), 1);
	ck_assert_uint_eq(losses.late, 1);
}
END_TEST

START_TEST(different_stacks_begin_another_chunk)
{
	uint64_t sum;

	put_different_stacks(15000, 64); /* 4 MiB of them, 1 MiB of names */
	ck_assert_int_eq(collector_stop(), 0);
	ck_assert_uint_eq(count("jdk.ExecutionSample", "", &sum), 15000);
	ck_assert_uint_ge(count("asprof.Losses", "stackTableFull", &sum), 3);
	ck_assert_uint_eq(sum, 0);
}
END_TEST

START_TEST(chunks_of_one_report_are_bounded)
{
	uint64_t sum;

	put_different_stacks(10000, 500); /* 20 MiB */
	ck_assert_int_eq(collector_rotate(), 0);
	put_different_stacks(1500, 500); /* 3 MiB, in the next report */
	ck_assert_int_eq(collector_stop(), 0);
	ck_assert_uint_ge(count("asprof.Losses", "stackTableFull", &sum), 8 + 2);
	ck_assert_uint_le(count("asprof.Losses", "stackTableFull", &sum), 8 + 3);
	ck_assert_uint_gt(sum, 0);
	ck_assert_uint_eq(count("jdk.ExecutionSample", "", &sum), 11500);
}
END_TEST

/* Chunks within a report lose nothing, and write the events that a report has once only in its last
 * chunk. */
START_TEST(a_report_has_many_chunks)
{
	uint64_t sum;

	for (int i = 0; i < 20; i++) {
		put_sample(1);
		ck_assert_int_eq(collector_end_chunk(), 0);
	}
	put_sample(1);
	ck_assert_int_eq(collector_rotate(), 0);
	ck_assert_int_eq(collector_stop(), 0);
	ck_assert_uint_eq(count("jdk.ExecutionSample", "", &sum), 21);
	ck_assert_uint_eq(count("jdk.CPUInformation", "", &sum), 2);
	ck_assert_uint_eq(count("jdk.NativeLibrary", "", &sum) % 22, 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, open_recording, NULL);
	tcase_add_test(tests, counts_begin_anew_with_each_start);
	tcase_add_test(tests, different_stacks_begin_another_chunk);
	tcase_add_test(tests, a_report_has_many_chunks);
	tcase_add_test(tests, chunks_of_one_report_are_bounded);
	tcase_add_test(tests, one_late_signal_writes_few_events);
	return suite_run(tests);
}
