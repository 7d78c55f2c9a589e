/* engine/collect/collector: what the rings hold becomes events, as many as a reader can use. */
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

static void open_recording(void)
{
	static const chunk_settings none = { 0 };

	fd = memfd_create("recording", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ring_open(1, 64u << 10, &wake), 0);
	cfi_lookup_init();
	ck_assert_int_eq(modules_open(), 0);
	ck_assert_int_eq(collector_start(fd, &none, NULL, false), 0);
}

static void put_sample(uint32_t weight)
{
	static const uintptr_t pcs[] = { 0x1000, 0x2000 };
	struct sample *sample = ring_reserve_stack(0, SAMPLE_CPU, gettid(), pcs, 2, false);

	ck_assert_ptr_nonnull(sample);
	sample->weight = weight;
	ring_commit(sample);
}

/* Events of TYPE in the recording, the values of FIELD added up in *SUM. */
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
		ck_assert_int_eq(jfr_header(&header, file, (uint64_t)status.st_size, at, &error),
				 0);
		ck_assert_int_eq(jfr_chunk_open(&chunk, file, &header), 0);
		jfr_scan(&scan, &chunk, ~0u);
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

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, open_recording, NULL);
	tcase_add_test(tests, one_late_signal_writes_few_events);
	return suite_run(tests);
}
