/* core/agent/recording.c: finished chunks are cut off at the front, and nothing else. */
#include "core/agent/recording.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/fd.h"
#include "test/fixtures/jfr_chunk.h"
#include "test/fixtures/suite.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

#define UNFINISHED 0x7fffffffffffffffu

static struct recording *recording;
static int engine_fd; /* as an engine has it: opened by the path */

static void open_recording(void)
{
	ck_assert_int_eq(recording_open(&recording, NULL), 0);
	engine_fd = open(recording_path(recording), O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(engine_fd, 0);
}

static void close_recording(void)
{
	close(engine_fd);
	recording_close(recording);
}

/* A chunk of SIZE bytes at the end of the file, whose header has the size SAID. */
static void put_chunk(size_t size, uint64_t said, uint64_t pools)
{
	uint8_t *chunk = calloc(1, size);

	jfr_chunk_fill(chunk, said);
	if (pools && pools < size)
		chunk[pools] = 1;
	pools = htobe64(pools);
	memcpy(chunk + 16, &pools, 8);
	ck_assert_int_eq(lseek(engine_fd, 0, SEEK_END) >= 0, 1);
	ck_assert_int_eq(fd_write(engine_fd, chunk, size, -1), 0);
	free(chunk);
}

static struct report_part cut(int expected)
{
	struct report_part part;

	ck_assert_int_eq(recording_cut(recording, &part), expected);
	return part;
}

static blkcnt_t blocks(void)
{
	struct stat st;

	ck_assert_int_eq(fstat(engine_fd, &st), 0);
	return st.st_blocks;
}

START_TEST(cuts_finished_chunks_only)
{
	struct report_part part = cut(0);

	ck_assert_uint_eq(part.length, 0);
	put_chunk(5000, 5000, 100);
	put_chunk(300, 300, 100);
	put_chunk(700, UNFINISHED, 0);
	part = cut(0);
	ck_assert_int_eq(part.offset, 0);
	ck_assert_uint_eq(part.length, 5300);
	ck_assert_uint_eq(cut(0).length, 0);
}
END_TEST

START_TEST(goes_on_where_it_stopped)
{
	uint64_t said = htobe64(700), pools = htobe64(68);
	struct report_part part;

	put_chunk(5000, 5000, 100);
	put_chunk(700, UNFINISHED, 0);
	cut(0);
	/* The engine finishes its chunk: the size alone is not enough. */
	ck_assert_int_eq(fd_write(engine_fd, &said, 8, 5008), 0);
	ck_assert_uint_eq(cut(0).length, 0);
	ck_assert_int_eq(fd_write(engine_fd, &pools, 8, 5016), 0);
	part = cut(0);
	ck_assert_int_eq(part.offset, 5000);
	ck_assert_uint_eq(part.length, 700);
}
END_TEST

START_TEST(gives_space_back)
{
	struct report_part part;
	blkcnt_t before;
	char byte;

	put_chunk(1 << 20, 1 << 20, 100);
	put_chunk(700, UNFINISHED, 0);
	part = cut(0);
	before = blocks();
	recording_release(recording, &part);
	ck_assert_int_lt(blocks(), before / 8);
	/* The engine's present chunk stays. */
	ck_assert_int_eq(fd_read(engine_fd, &byte, 1, 1 << 20), 0);
	ck_assert_int_eq(byte, 'F');
}
END_TEST

START_TEST(drops_damaged_chunks)
{
	struct report_part part;

	put_chunk(300, 300, 100);
	put_chunk(200, 200, 200); /* its constant pool is missing */
	put_chunk(200, 200, 100);
	ck_assert_int_eq(fd_write(engine_fd, "x", 1, 500), 0); /* its header is missing */
	put_chunk(400, 400, 100);
	part = cut(0);
	ck_assert_int_eq(part.offset, 0);
	ck_assert_uint_eq(part.length, 300);
	ck_assert_uint_eq(recording_take_dropped(recording), 0);
	part = cut(0);
	ck_assert_int_eq(part.offset, 700);
	ck_assert_uint_eq(part.length, 400);
	ck_assert_uint_eq(recording_take_dropped(recording), 2);
	ck_assert_uint_eq(recording_take_dropped(recording), 0);
}
END_TEST

START_TEST(skips_a_chunk_that_cannot_be_finished)
{
	struct report_part part;

	put_chunk(300, UNFINISHED, 0);
	ck_assert_uint_eq(cut(0).length, 0);
	recording_skip_chunk(recording);
	put_chunk(400, 400, 100);
	part = cut(0);
	ck_assert_int_eq(part.offset, 300);
	ck_assert_uint_eq(part.length, 400);
	put_chunk(500, UNFINISHED, 0);
	put_chunk(200, 200, 100);
	recording_skip_chunk(recording);
	part = cut(0);
	ck_assert_int_eq(part.offset, 1200);
	ck_assert_uint_eq(part.length, 200);
}
END_TEST

static int open_second(void)
{
	char name[] = "/tmp/recording.XXXXXX";
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	unlink(name);
	ck_assert_int_eq(fd_write(fd, "before", 6, -1), 0);
	return fd;
}

/* The cut data is in the other file, and the engine's file is empty up to there. */
START_TEST(moves_finished_chunks)
{
	int second = open_second();
	struct report_part part;
	blkcnt_t before;

	ck_assert_int_eq(recording_move(recording), 0);
	recording_move_to(recording, second);
	put_chunk(1 << 20, 1 << 20, 100);
	put_chunk(300, 300, 100);
	put_chunk(700, UNFINISHED, 0);
	before = blocks();
	ck_assert_uint_eq(cut(0).length, 0);
	ck_assert_int_eq(recording_move(recording), 0);
	ck_assert_int_lt(blocks(), before / 8);
	put_chunk(200, 200, 100); /* is after an unfinished one */
	ck_assert_int_eq(recording_move(recording), 0);
	part = cut(0);
	ck_assert_int_eq(part.fd, second);
	ck_assert_int_eq(part.offset, 6);
	ck_assert_uint_eq(part.length, (1 << 20) + 300);
	ck_assert_int_eq(lseek(second, 0, SEEK_END), 6 + (1 << 20) + 300);
	recording_release(recording, &part);
	ck_assert_uint_eq(cut(0).length, 0);
}
END_TEST

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Write a chunk of async-profiler without the second half of its constant pool, but with the sizes
 * of the present data, as async-profiler does when its writes fail. Returns its size. */
static uint64_t put_truncated_pool(void)
{
	static uint8_t chunk[512 << 10];
	int fd = open("test/fixtures/jfr/native.jfr", O_RDONLY | O_CLOEXEC);
	uint64_t size, pools, written;

	ck_assert_int_gt(read(fd, chunk, sizeof(chunk)), 68);
	close(fd);
	memcpy(&size, chunk + 8, 8);
	memcpy(&pools, chunk + 16, 8);
	size = be64toh(size);
	pools = be64toh(pools);
	ck_assert_uint_lt(size, sizeof(chunk));
	size = pools + (size - pools) / 2;
	written = htobe64(size);
	memcpy(chunk + 8, &written, 8);
	for (int i = 0; i < 5; i++)
		chunk[pools + (uint64_t)i] =
			(uint8_t)(((size - pools) >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0));
	ck_assert_int_eq(fd_write(engine_fd, chunk, size, -1), 0);
	return size;
}

START_TEST(decodes_chunks_under_a_file_size_limit)
{
	uint64_t size = put_truncated_pool();

	ck_assert_uint_eq(cut(0).length, size);
	put_truncated_pool();
	limit_file_size(1 << 20);
	ck_assert_uint_eq(cut(0).length, 0);
	ck_assert_uint_eq(recording_take_dropped(recording), 1);
}
END_TEST

/* As with a full disk: no byte is lost, and memory is used from then on. */
START_TEST(goes_on_in_memory_where_a_file_takes_no_more)
{
	int second = open_second(), same = dup(second);
	struct report_part part;
	char first, last[4];

	ck_assert_int_eq(ftruncate(second, 1 << 20), 0);
	recording_move_to(recording, second);
	put_chunk(3000, 3000, 100);
	ck_assert_int_eq(recording_move(recording), 0);
	put_chunk(4900, 4900, 100);
	put_chunk(200, 200, 100);
	ck_assert_int_eq(recording_peek(recording, &part), 0); /* these chunks cannot be decoded */
	limit_file_size((1 << 20) + 8000);
	ck_assert_int_eq(recording_move(recording), -EFBIG);
	ck_assert_int_eq(lseek(same, 0, SEEK_END), (1 << 20) + 3000);
	limit_file_size(RLIM_INFINITY);
	part = cut(0);
	ck_assert_int_ne(part.fd, second);
	ck_assert_uint_eq(part.length, 8100);
	ck_assert_int_eq(fd_read(part.fd, &first, 1, part.offset), 0);
	ck_assert_int_eq(first, 'F');
	ck_assert_int_eq(fd_read(part.fd, last, 4, part.offset + 7900), 0);
	ck_assert_mem_eq(last, "FLR", 4);
	put_chunk(500, 500, 100);
	ck_assert_int_eq(recording_move(recording), 0);
	ck_assert_uint_eq(cut(0).length, 500);
}
END_TEST

START_TEST(refuses_what_is_no_recording)
{
	ck_assert_int_eq(fd_write(engine_fd,
				  "# a text, not chunks of JFR, and longer than a header\n"
				  "####################",
				  70, -1),
			 0);
	cut(-EBADMSG);
}
END_TEST

START_TEST(waits_for_a_short_header)
{
	ck_assert_int_eq(fd_write(engine_fd, "FLR", 4, -1), 0);
	ck_assert_uint_eq(cut(0).length, 0);
}
END_TEST

/* A size smaller than the header would never end. */
START_TEST(never_goes_in_circles)
{
	put_chunk(100, 3, 100);
	ck_assert_uint_eq(cut(0).length, 0);
}
END_TEST

START_TEST(keeps_out_of_the_way)
{
	ck_assert_int_eq(recording_number(recording_path(recording)), recording_fd(recording));
	ck_assert_int_ge(recording_fd(recording), FD_FLOOR);
	ck_assert_int_eq(recording_number("/proc/self/maps"), -1);
	ck_assert_int_eq(recording_number("/tmp/fd/5"), -1);
}
END_TEST

/* As async-profiler has one. */
static void *open_with_another_table(void *opened)
{
	int fd;

	*(bool *)opened = !syscall(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE);
	fd = open(recording_path(recording), O_RDWR | O_CLOEXEC);
	return fd >= 0 && pwrite(fd, "x", 1, 9) == 1 && !close(fd) ? opened : NULL;
}

START_TEST(is_opened_by_a_thread_with_another_table)
{
	pthread_t thread;
	void *written;
	bool apart;
	char c;

	ck_assert_int_eq(pthread_create(&thread, NULL, open_with_another_table, &apart), 0);
	ck_assert_int_eq(pthread_join(thread, &written), 0);
	if (!apart)
		fprintf(stderr, "recording: on this kernel there are no other tables\n");
	ck_assert_ptr_nonnull(written);
	ck_assert_int_eq(pread(recording_fd(recording), &c, 1, 9), 1);
	ck_assert_int_eq(c, 'x');
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("recording");

	tcase_add_checked_fixture(c, open_recording, close_recording);
	tcase_add_test(c, cuts_finished_chunks_only);
	tcase_add_test(c, goes_on_where_it_stopped);
	tcase_add_test(c, gives_space_back);
	tcase_add_test(c, drops_damaged_chunks);
	tcase_add_test(c, skips_a_chunk_that_cannot_be_finished);
	tcase_add_test(c, moves_finished_chunks);
	tcase_add_test(c, decodes_chunks_under_a_file_size_limit);
	tcase_add_test(c, goes_on_in_memory_where_a_file_takes_no_more);
	tcase_add_test(c, refuses_what_is_no_recording);
	tcase_add_test(c, waits_for_a_short_header);
	tcase_add_test(c, never_goes_in_circles);
	tcase_add_test(c, keeps_out_of_the_way);
	tcase_add_test(c, is_opened_by_a_thread_with_another_table);
	return suite_run(c);
}
