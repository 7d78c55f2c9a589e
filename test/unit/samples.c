/* core/agent/samples.c: the samples of a recording are counted as its readers count them, for each
 * engine; damaged data is refused. */
#include "core/agent/samples.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "test/fixtures/suite.h"

/* Recordings of async-profiler, and the number of events with stacks in the decoder: for the first
 * ExecutionSample, WallClockSample and Malloc, for the second also locks and Java allocations. */
static const struct {
	const char *file;
	uint64_t samples;
} recordings[] = {
	{ "test/fixtures/jfr/chunks.jfr", 780 + 277 + 1282 },
	{ "test/fixtures/jfr/java.jfr", 108 + 585 + 143 + 2015 + 655 },
};

static struct report_part whole(const char *file)
{
	struct report_part part = { .fd = open(file, O_RDONLY | O_CLOEXEC) };
	struct stat st;

	ck_assert_msg(part.fd >= 0 && !fstat(part.fd, &st), "%s", file);
	part.length = (uint64_t)st.st_size;
	return part;
}

START_TEST(counts_what_readers_count)
{
	struct report_part part = whole(recordings[_i].file);
	uint64_t count = 1;

	ck_assert_int_eq(samples_count(&part, &count), 0);
	ck_assert_uint_eq(count, 1 + recordings[_i].samples);
	close(part.fd);
}
END_TEST

/* A part is some chunks of a file: only these are counted. */
START_TEST(counts_its_part_alone)
{
	struct report_part part = whole(recordings[0].file), rest;
	uint64_t size, count = 0, chunks = 0;

	for (rest = part; rest.length; chunks++) {
		uint64_t one = 0;

		ck_assert_int_eq(fd_read(part.fd, &size, sizeof(size), rest.offset + 8), 0);
		part = rest;
		part.length = be64toh(size);
		ck_assert_int_eq(samples_count(&part, &one), 0);
		count += one;
		rest.offset += (off_t)part.length;
		rest.length -= part.length;
	}
	ck_assert_uint_eq(chunks, 4);
	ck_assert_uint_eq(count, recordings[0].samples);
	close(part.fd);
}
END_TEST

/* Every byte of the header and of the metadata, in turn: reading never passes an end, and an error
 * counts nothing. */
START_TEST(damage_is_survived)
{
	struct report_part part = whole(recordings[1].file);
	static uint8_t bytes[1 << 20];
	uint64_t metadata, count;
	int fd = memfd_create("damaged", MFD_CLOEXEC), err;

	ck_assert_int_eq(fd_read(part.fd, bytes, part.length, 0), 0);
	ck_assert_int_eq(fd_write(fd, bytes, part.length, 0), 0);
	close(part.fd);
	part.fd = fd;
	memcpy(&metadata, bytes + 24, sizeof(metadata));
	metadata = be64toh(metadata);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t at = i < 100 ? i : metadata + i - 100;
		uint8_t bad = (uint8_t)(bytes[at] ^ (_i ? 0xff : 1u << i % 8));

		ck_assert_int_eq(fd_write(fd, &bad, 1, (off_t)at), 0);
		count = 7;
		err = samples_count(&part, &count);
		ck_assert(err == 0 || count == 7);
		ck_assert_int_eq(fd_write(fd, &bytes[at], 1, (off_t)at), 0);
	}
	/* Truncated anywhere. */
	for (uint64_t i = 0; i < part.length; i += 4999) {
		struct report_part less = part;

		less.length = i;
		count = 7;
		err = samples_count(&less, &count);
		ck_assert_int_eq(err, i ? -EBADMSG : 0);
		ck_assert_uint_eq(count, 7);
	}
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("samples");

	tcase_add_loop_test(tcase, counts_what_readers_count, 0,
			    sizeof(recordings) / sizeof(recordings[0]));
	tcase_add_test(tcase, counts_its_part_alone);
	tcase_add_loop_test(tcase, damage_is_survived, 0, 2);
	return suite_run(tcase);
}
