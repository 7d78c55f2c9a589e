/* upload/recover/whole_chunk.c: chunks with zeros in them, as after a power cut, are skipped, and
 * later ones are found, wherever the zeros are. An unfinished chunk is not returned. */
#include "upload/recover/whole_chunk.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "test/fixtures/suite.h"

#define FILE_OF_CHUNKS "test/fixtures/jfr/chunks.jfr"

static uint8_t chunk[4 << 20];
static uint64_t length;

static void read_chunk(void)
{
	int fd = open(FILE_OF_CHUNKS, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s", FILE_OF_CHUNKS);
	ck_assert_int_eq(fd_read(fd, &length, sizeof(length), 8), 0);
	length = be64toh(length);
	ck_assert_uint_lt(length, sizeof(chunk));
	ck_assert_int_eq(fd_read(fd, chunk, length, 0), 0);
	close(fd);
}

/* A file with three chunks: at AT, LENGTH and twice that after it. */
static int three(off_t at)
{
	int fd = memfd_create("chunks", MFD_CLOEXEC);

	read_chunk();
	for (off_t i = 0; i < 3; i++)
		ck_assert_int_eq(fd_write(fd, chunk, length, at + i * (off_t)length), 0);
	return fd;
}

START_TEST(finds_each)
{
	int fd = three(100);
	off_t size = (off_t)length, end = 100 + 3 * size;
	uint64_t found = 0;

	ck_assert_int_eq(whole_chunk_next(fd, 100, end, &found), 100);
	ck_assert_uint_eq(found, length);
	ck_assert_int_eq(whole_chunk_next(fd, 0, end, &found), 100);
	ck_assert_int_eq(whole_chunk_next(fd, 101, end, &found), 100 + size);
	ck_assert_int_eq(whole_chunk_next(fd, 100 + 2 * size, end, &found), 100 + 2 * size);
	ck_assert_int_eq(whole_chunk_next(fd, 100 + 2 * size, end - 1, &found), -1);
	ck_assert_int_eq(whole_chunk_next(fd, end, end, &found), -1);
	close(fd);
}
END_TEST

START_TEST(passes_over_zeros)
{
	static const uint8_t zeros[1024];
	int fd = three(0);
	off_t size = (off_t)length, at;
	uint64_t found = 0;

	for (at = 0; at + (off_t)sizeof(zeros) <= size; at += size / 61) {
		ck_assert_int_eq(fd_write(fd, zeros, sizeof(zeros), size + at), 0);
		ck_assert_int_eq(whole_chunk_next(fd, 0, 3 * size, &found), 0);
		ck_assert_int_eq(whole_chunk_next(fd, size, 3 * size, &found), 2 * size);
		ck_assert_uint_eq(found, length);
		ck_assert_int_eq(fd_write(fd, chunk, length, size), 0);
	}
	ck_assert_int_eq(whole_chunk_next(fd, size, 3 * size, &found), size);
	close(fd);
}
END_TEST

/* Its header marks it as unfinished. */
START_TEST(leaves_out_the_unfinished)
{
	static const uint64_t no_pools;
	int fd = three(0);
	off_t size = (off_t)length;
	uint64_t found = 0;

	ck_assert_int_eq(fd_write(fd, &no_pools, sizeof(no_pools), 2 * size + 16), 0);
	ck_assert_int_eq(whole_chunk_next(fd, size, 3 * size, &found), size);
	ck_assert_int_eq(whole_chunk_next(fd, 2 * size, 3 * size, &found), -1);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("whole_chunk");

	tcase_add_test(tcase, finds_each);
	tcase_add_test(tcase, passes_over_zeros);
	tcase_add_test(tcase, leaves_out_the_unfinished);
	return suite_run(tcase);
}
