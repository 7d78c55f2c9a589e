/* engine/jfr/jfr_write: chunks byte by byte, their shared constants, and errors when the disk or
 * the memory is full. */
#include "engine/jfr/jfr_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/asprof.h"
#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_interned.h"
#include "profile/jfr/jfr_read.h"
#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define HEADER 68

/* Fail the allocation with this number, and all later ones; 0: none. A sanitizer has its own
 * allocator, which must not be replaced. */
#define OWN_ALLOCATOR (!ADDRESS_SANITIZED && !THREAD_SANITIZED)

#if OWN_ALLOCATOR
static unsigned allocations, fail_from;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static bool fails(void)
{
	if (!fail_from || ++allocations < fail_from)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}
#endif

static int memory_file(void)
{
	int fd = memfd_create("jfr", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static uint64_t length_of(int fd)
{
	struct stat status;

	ck_assert_int_eq(fstat(fd, &status), 0);
	return (uint64_t)status.st_size;
}

static uint8_t *map(int fd)
{
	uint8_t *file = mmap(NULL, length_of(fd), PROT_READ, MAP_PRIVATE, fd, 0);

	ck_assert_ptr_ne(file, MAP_FAILED);
	return file;
}

static uint64_t be(const uint8_t *p, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

/* A writer with an open chunk in a memory file. */
static struct jfr_writer *begin(int *fd)
{
	struct jfr_writer *w;

	*fd = memory_file();
	ck_assert_int_eq(jfr_writer_open(&w, *fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	return w;
}

/* Close chunk and writer, open the chunk at OFFSET for reading. */
static const uint8_t *finish(struct jfr_writer *w, int fd, struct jfr_chunk *chunk)
{
	struct jfr_header header;
	struct jfr_error error;
	const uint8_t *file;

	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + SAMPLE_SECOND_NS, 2 * SAMPLE_TICKS,
				       sample_namer, NULL, NULL),
			 0);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), 0, &error), 0);
	ck_assert_int_eq(jfr_chunk_open(chunk, file, &header), 0);
	return file;
}

static void done(struct jfr_chunk *chunk, const uint8_t *file, int fd)
{
	jfr_chunk_close(chunk);
	munmap((void *)(uintptr_t)file, length_of(fd));
	close(fd);
}

/* The path of fields NAMES, separated by dots, as a string. */
static const char *text(struct jfr_chunk *chunk, const struct jfr_event *event, const char *field,
			struct buf *out)
{
	struct jfr_value value;

	buf_reset(out);
	if (!jfr_event_get_field(chunk, event, field, &value) ||
	    !jfr_value_append_string(chunk, &value, out))
		return NULL;
	return buf_string(out);
}

static bool next_of(struct jfr_scan *scan, struct jfr_event *event, enum jfr_type_id type)
{
	while (jfr_scan_next(scan, event))
		if (event->type && event->type->id == type)
			return true;
	return false;
}

/* The file may not grow past LIMIT bytes; in the test's own process (Check forks). */
static void limit_files(rlim_t limit)
{
	const struct rlimit bytes = { limit, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &bytes), 0);
}

static const struct {
	uint64_t value;
	size_t length;
	uint8_t bytes[9];
} varints[] = {
	{ 0, 1, { 0 } },
	{ 1, 1, { 1 } },
	{ 0x7f, 1, { 0x7f } },
	{ 0x80, 2, { 0x80, 0x01 } },
	{ 300, 2, { 0xac, 0x02 } },
	{ 0x3fff, 2, { 0xff, 0x7f } },
	{ 0x4000, 3, { 0x80, 0x80, 0x01 } },
	{ 0xffffffff, 5, { 0xff, 0xff, 0xff, 0xff, 0x0f } },
	{ (1ull << 56) - 1, 8, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f } },
	/* The ninth byte has all of its eight bits. */
	{ 1ull << 56, 9, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 } },
	{ 1ull << 63, 9, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 } },
	{ UINT64_MAX, 9, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
};

START_TEST(varint)
{
	uint8_t bytes[JFR_VARINT_MAX];

	ck_assert_ptr_eq(jfr_put_varint(bytes, varints[_i].value), bytes + varints[_i].length);
	ck_assert_mem_eq(bytes, varints[_i].bytes, varints[_i].length);
}
END_TEST

START_TEST(padded_numbers_and_strings)
{
	uint8_t bytes[16];

	jfr_put_padded(bytes, 0);
	ck_assert_mem_eq(bytes, "\x80\x80\x80\x00", 4);
	jfr_put_padded(bytes, (1u << 28) - 1);
	ck_assert_mem_eq(bytes, "\xff\xff\xff\x7f", 4);
	ck_assert_ptr_eq(jfr_put_bytes(bytes, JFR_STRING_UTF8, "ab", 2), bytes + 4);
	ck_assert_mem_eq(bytes,
			 "\x03\x02"
			 "ab",
			 4);
	jfr_put_float(bytes, 0.5f);
	ck_assert_mem_eq(bytes, "\x3f\x00\x00\x00", 4);

	ck_assert_uint_eq(jfr_string_length("abc", 3), 3);
	ck_assert_uint_eq(jfr_string_length("abcd", 3), 3);
	/* Two-byte and three-byte characters are not split. */
	ck_assert_uint_eq(jfr_string_length("ab\xc3\xb6", 3), 2);
	ck_assert_uint_eq(jfr_string_length("\xe2\x82\xac\xe2\x82\xac", 5), 3);
}
END_TEST

START_TEST(header_is_patched_last)
{
	struct jfr_writer *w;
	uint8_t *file;
	int fd;
	off_t end;

	w = begin(&fd);
	file = map(fd);
	ck_assert_mem_eq(file, "FLR\0\0\2\0\0", 8);
	/* Its form in the file while the chunk is open: no reader takes it for complete. */
	ck_assert_uint_gt(be(file + 8, 8), length_of(fd));
	ck_assert_uint_eq(be(file + 16, 8), 0);
	ck_assert_uint_eq(be(file + 24, 8), 0);
	ck_assert_uint_eq(be(file + 32, 8), SAMPLE_START_NS);
	munmap(file, length_of(fd));

	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + SAMPLE_SECOND_NS / 2,
				       SAMPLE_TICKS + SAMPLE_TICKS / 2, sample_namer, NULL, &end),
			 0);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_uint_eq(be(file + 8, 8), (uint64_t)end);
	ck_assert_uint_eq(length_of(fd), (uint64_t)end);
	ck_assert_uint_eq(be(file + 24, 8), HEADER);
	ck_assert_uint_eq(be(file + 32, 8), SAMPLE_START_NS);
	ck_assert_uint_eq(be(file + 40, 8), SAMPLE_SECOND_NS / 2);
	ck_assert_uint_eq(be(file + 48, 8), SAMPLE_TICKS);
	ck_assert_uint_eq(be(file + 56, 8), SAMPLE_TICKS); /* a second's worth */
	ck_assert_uint_eq(be(file + 64, 4), 1);
	/* The pools: a padded length, then type 1. */
	ck_assert_uint_eq(file[be(file + 16, 8) + 4], JFR_T_CPOOL);
	munmap(file, length_of(fd));
	close(fd);
}
END_TEST

START_TEST(malloc_to_the_byte)
{
	static const uint8_t expected[] = {
		21, JFR_T_MALLOC, 0x05, /* ticks */
		0xe9, 0x07,             /* thread 1001 */
		0x00,                   /* no stack */
		0x80, 0x20,             /* address 4096 */
		0x80, 0x08,             /* size 1024 */
		/* An event for readers by position: eleven bytes, of type 1. */
		11, JFR_EXTRA_VERSION, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, /* weight */
		0x00, /* no context */
	};
	struct jfr_writer *w;
	uint64_t before;
	uint8_t *file;
	int fd;

	w = begin(&fd);
	before = jfr_chunk_bytes(w);
	ck_assert_uint_eq(before, length_of(fd));
	jfr_malloc(w, 5, SAMPLE_TID, 0, 4096, 1024, (1ull << 56) - 1);
	ck_assert_uint_eq(jfr_chunk_bytes(w) - before, sizeof(expected));
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, NULL),
		0);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_mem_eq(file + before, expected, sizeof(expected));
	munmap(file, length_of(fd));
	close(fd);
}
END_TEST

/* Whether TICKS are so many seconds, except for the fraction that a header's frequency lacks. */
static bool seconds(int64_t ticks, int64_t count, const struct jfr_header *header)
{
	return llabs(ticks - count * header->ticks_per_second) <= llabs(count);
}

START_TEST(memory_chunks_have_short_times)
{
	static const uint64_t later = 30 * SAMPLE_TICKS;
	struct jfr_header header;
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_error error;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const int64_t start = (int64_t)SAMPLE_TICKS << 20; /* a counter that has run for weeks */
	uint64_t before;
	uint8_t *file;
	int64_t unit;
	int fd = memory_file();

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	jfr_writer_memory_only(w, SAMPLE_COARSE, JFR_WITH_OTHER_ENGINE);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, (uint64_t)start), 0);
	ck_assert_uint_ge(SAMPLE_STACK(w, sample_burn), JFR_MEMORY_IDS);
	before = jfr_chunk_bytes(w);
	jfr_free(w, (uint64_t)start + later, SAMPLE_TID, 0, 0x7f1200000000, 524288,
		 (uint64_t)start + later / 2);
	ck_assert_uint_le(jfr_chunk_bytes(w) - before, 25);
	/* Older than the chunk. */
	jfr_free(w, (uint64_t)start, SAMPLE_TID, 0, 0x7f1200000000, 1, (uint64_t)start - later);
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + 60 * SAMPLE_SECOND_NS,
				       (uint64_t)start + 2 * later, sample_namer, NULL, NULL),
			 0);
	jfr_writer_close(w);

	file = map(fd);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), 0, &error), 0);
	ck_assert_int_eq(jfr_chunk_open(&chunk, file, &header), 0);
	ck_assert_int_eq(header.start_ticks, 0);
	unit = (int64_t)SAMPLE_TICKS / header.ticks_per_second;
	ck_assert_int_gt(unit, 1);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_FREE));
	ck_assert(seconds(event.slot[JFR_TIME], 30, &header));
	ck_assert(seconds(event.slot[JFR_BIRTH], 15, &header));
	ck_assert(next_of(&scan, &event, JFR_T_FREE));
	ck_assert_int_eq(event.slot[JFR_TIME], 0);
	ck_assert(seconds(event.slot[JFR_BIRTH], -30, &header));
	done(&chunk, file, fd);
}
END_TEST

START_TEST(chunks_with_others_have_no_duration)
{
	struct jfr_header header;
	struct jfr_error error;
	struct jfr_writer *w;
	uint8_t *file;
	int fd = memory_file();

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	jfr_writer_memory_only(w, SAMPLE_COARSE, JFR_WITH_OWN_CHUNKS);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, 0), 0);
	jfr_free(w, SAMPLE_TICKS, SAMPLE_TID, 0, 1, 1, 0);
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + SAMPLE_SECOND_NS, SAMPLE_TICKS,
				       sample_namer, NULL, NULL),
			 0);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), 0, &error), 0);
	ck_assert_int_eq(header.duration_ns, 0);
	ck_assert_int_gt(header.ticks_per_second, 1);
	munmap(file, length_of(fd));
	close(fd);
}
END_TEST

START_TEST(chunks_move_behind_those_of_another_writer)
{
	struct jfr_writer *w, *memory;
	struct jfr_header header;
	struct jfr_error error;
	off_t first, second;
	uint8_t *file;
	unsigned i;
	int fd, other;

	w = begin(&fd);
	memory = begin(&other);
	ck_assert_int_eq(jfr_writer_append(w, memory, &second), -EBUSY);
	for (i = 0; i < 5000; i++) /* more than a buffer */
		jfr_free(memory, i, SAMPLE_TID, 0, i, i, i);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, &first),
		0);
	ck_assert_int_eq(jfr_writer_append(w, memory, &second), -EBUSY);
	ck_assert_int_eq(jfr_chunk_end(memory, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer,
				       NULL, &second),
			 0);
	file = map(other);
	ck_assert_int_eq(jfr_writer_append(w, memory, &first), 0);
	ck_assert_uint_eq(length_of(other), 0);
	ck_assert_int_eq(jfr_writer_append(w, memory, &first), 0); /* nothing more */
	ck_assert_uint_eq(length_of(fd), (uint64_t)first);
	munmap(file, (size_t)second);

	file = map(fd);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), 0, &error), 0);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), header.size, &error), 0);
	ck_assert_uint_eq(header.size, (uint64_t)second);
	ck_assert_uint_eq(header.offset + header.size, (uint64_t)first);
	munmap(file, length_of(fd));

	/* Both continue. */
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	ck_assert_int_eq(jfr_chunk_begin(memory, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	ck_assert_uint_gt(length_of(fd), (uint64_t)first);
	ck_assert_uint_gt(length_of(other), 0);
	jfr_writer_close(w);
	jfr_writer_close(memory);
	close(fd);
	close(other);
}
END_TEST

START_TEST(chunks_that_cannot_move_stay)
{
	struct jfr_writer *w, *memory;
	off_t first, second;
	int fd, other;

	w = begin(&fd);
	memory = begin(&other);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, &first),
		0);
	ck_assert_int_eq(jfr_chunk_end(memory, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer,
				       NULL, &second),
			 0);
	limit_files((rlim_t)(first + second - 1));
	ck_assert_int_eq(jfr_writer_append(w, memory, &first), -EFBIG);
	ck_assert_uint_eq(length_of(fd), (uint64_t)first);
	limit_files((rlim_t)(first + second));
	ck_assert_int_eq(jfr_writer_append(w, memory, &second), 0);
	ck_assert_uint_eq(length_of(fd), (uint64_t)second);
	jfr_writer_close(w);
	jfr_writer_close(memory);
	close(fd);
	close(other);
}
END_TEST

/* Events by type, in one chunk of the sample. */
static const struct {
	enum jfr_type_id type;
	unsigned count[SAMPLE_CHUNKS];
} expected_events[] = {
	{ JFR_T_EXECUTION_SAMPLE, { 3, 3 } }, { JFR_T_WALL_CLOCK_SAMPLE, { 1, 1 } },
	{ JFR_T_MALLOC, { 2, 2 } },           { JFR_T_FREE, { 1, 0 } },
	{ JFR_T_USER_EVENT, { 1, 1 } },       { JFR_T_RETAINED_HEAP, { 1, 1 } },
	{ JFR_T_LOSSES, { 1, 1 } },           { JFR_T_ACTIVE_RECORDING, { 1, 1 } },
	{ JFR_T_ACTIVE_SETTING, { 2, 2 } },   { JFR_T_OS_INFORMATION, { 1, 1 } },
	{ JFR_T_CPU_INFORMATION, { 1, 1 } },  { JFR_T_NATIVE_LIBRARY, { 1, 1 } },
	{ JFR_T_CPU_LOAD, { 1, 1 } },
};

START_TEST(a_calibrated_writer_tells_the_same_rate_in_each_chunk)
{
	struct jfr_writer *w;
	uint8_t *file;
	off_t end;
	int fd;

	w = begin(&fd);
	jfr_writer_calibrated(w, SAMPLE_TICKS);
	/* This chunk alone would give twice that. */
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + SAMPLE_SECOND_NS / 2, 2 * SAMPLE_TICKS,
				       sample_namer, NULL, &end),
			 0);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_uint_eq(be(file + 56, 8), SAMPLE_TICKS);
	munmap(file, length_of(fd));
}
END_TEST

START_TEST(two_chunks_hold_every_event)
{
	unsigned counts[256], c, i;
	struct jfr_header header;
	struct jfr_error error;
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_scan scan;
	uint64_t at = 0;
	uint8_t *file;
	off_t end;
	int fd = memory_file();

	ck_assert_int_eq(sample_write(fd, &end), 0);
	ck_assert_uint_eq(length_of(fd), (uint64_t)end);
	file = map(fd);
	for (c = 0; c < SAMPLE_CHUNKS; c++) {
		ck_assert_int_eq(jfr_header_read(&header, file, (uint64_t)end, at, &error), 0);
		ck_assert_int_eq(header.start_ns,
				 (int64_t)(SAMPLE_START_NS + c * SAMPLE_SECOND_NS));
		ck_assert_int_eq(header.ticks_per_second, SAMPLE_TICKS);
		ck_assert_int_eq(jfr_chunk_open(&chunk, file, &header), 0);
		memset(counts, 0, sizeof(counts));
		jfr_scan_start(&scan, &chunk, UINT32_MAX);
		while (jfr_scan_next(&scan, &event))
			if (event.type)
				counts[event.type->id]++;
		ck_assert_ptr_null(chunk.error.what);
		for (i = 0; i < sizeof(expected_events) / sizeof(*expected_events); i++)
			ck_assert_uint_eq(counts[expected_events[i].type],
					  expected_events[i].count[c]);
		at += header.size;
		jfr_chunk_close(&chunk);
	}
	ck_assert_int_eq(jfr_header_read(&header, file, (uint64_t)end, at, &error), -ENODATA);
	munmap(file, (size_t)end);
	close(fd);
}
END_TEST

START_TEST(chunks_share_no_id)
{
	static const uintptr_t other[] = { 0x1000 };
	const struct jfr_context labels = { .labels = "a=b\n", .length = 4 };
	uint32_t first, second, context, wait;
	struct jfr_writer *w;
	int fd;

	w = begin(&fd);
	first = SAMPLE_STACK(w, other);
	second = SAMPLE_STACK(w, sample_burn);
	ck_assert_uint_ne(first, 0);
	ck_assert_uint_ne(first, second);
	ck_assert_uint_eq(first, SAMPLE_STACK(w, other));
	context = jfr_context(w, &labels);
	wait = jfr_wait_description(w, "on=1\n", 5);
	ck_assert_uint_eq(wait, jfr_wait_description(w, "on=1\n", 5));
	ck_assert_uint_lt(wait, jfr_wait_description(w, "on=2\n", 5));
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, NULL),
		0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1), 0);
	ck_assert_uint_gt(SAMPLE_STACK(w, other), second);
	ck_assert_uint_gt(jfr_context(w, &labels), context);
	ck_assert_uint_gt(jfr_wait_description(w, "on=2\n", 5), wait + 1);
	jfr_writer_close(w);
	close(fd);
}
END_TEST

START_TEST(an_unfinished_chunk_is_told)
{
	struct jfr_header header;
	struct jfr_error error;
	struct jfr_writer *w;
	uint8_t *file;
	off_t end;
	int fd;

	w = begin(&fd);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, &end),
		0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1), -EBUSY);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), 0, &error), 0);
	ck_assert_uint_eq(header.size, (uint64_t)end);
	ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), (uint64_t)end, &error),
			 -EBADMSG);
	munmap(file, length_of(fd));
	close(fd);
}
END_TEST

START_TEST(a_base_leaves_what_is_before_it)
{
	struct jfr_writer *w;
	uint8_t *file;
	off_t end;
	int fd = memory_file();

	ck_assert_int_eq(pwrite(fd, "abc", 3, 0), 3);
	ck_assert_int_eq(jfr_writer_open(&w, fd, 3), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, &end),
		0);
	jfr_writer_close(w);
	file = map(fd);
	ck_assert_mem_eq(file, "abcFLR", 6);
	ck_assert_uint_eq(be(file + 3 + 8, 8), (uint64_t)end - 3);
	ck_assert_uint_eq(file[3 + be(file + 3 + 16, 8) + 4], JFR_T_CPOOL);
	munmap(file, length_of(fd));
	close(fd);
}
END_TEST

/* The frames of EVENT's stack as "leaf;caller;…", with "…" after it if truncated. */
static const char *frames(struct jfr_chunk *chunk, const struct jfr_event *event, struct buf *out)
{
	struct jfr_value stack, array, frame, method, name, truncated;
	size_t i, count;
	const uint8_t *p;

	buf_reset(out);
	ck_assert(jfr_event_get_field(chunk, event, "stackTrace", &stack));
	ck_assert(jfr_value_get_field(chunk, &stack, "frames", &array));
	ck_assert(jfr_value_get_field(chunk, &stack, "truncated", &truncated));
	count = *array.at; /* fewer than 128 */
	p = array.at + 1;
	for (i = 0; i < count; i++) {
		const struct jfr_type *type = jfr_type_by_name(chunk, "jdk.types.StackFrame");

		frame = (struct jfr_value){ type, p, array.end };
		ck_assert(jfr_value_get_field(chunk, &frame, "method", &method));
		ck_assert(jfr_value_get_field(chunk, &method, "name", &name));
		if (i)
			buf_append_string(out, ";");
		ck_assert(jfr_value_append_string(chunk, &name, out));
		for (; *p & 0x80; p++) /* the method's key */
			;
		p += 4; /* its last byte, line, bytecode index, type */
	}
	if (jfr_value_integer(&truncated))
		buf_append_string(out, ";...");
	return buf_string(out);
}

START_TEST(stacks_are_shared_and_named)
{
	static const char *const expected[] = {
		"burn;ns::Type<int>::run;main;_start",
		"burn;ns::Type<int>::run;main;_start",
		"burn;ns::Type<int>::run;main;_start;...",
		"clock_nanosleep;relay;_start",
		"[unknown]",
		"[unknown]",
	};
	static const uintptr_t nameless[] = { 0x9999 };
	struct buf out = BUF_INIT(4096);
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	uint32_t ids[6], i;
	int fd;

	w = begin(&fd);
	ids[0] = SAMPLE_STACK(w, sample_burn);
	ids[1] = SAMPLE_STACK(w, sample_burn);
	ids[2] = jfr_stack(w, sample_burn, 4, true);
	ids[3] = SAMPLE_STACK(w, sample_sleep);
	ids[4] = jfr_stack(w, NULL, 0, false);
	ids[5] = SAMPLE_STACK(w, nameless);
	ck_assert_uint_eq(ids[0], ids[1]);
	ck_assert_uint_ne(ids[0], ids[2]);
	for (i = 0; i < 6; i++)
		jfr_execution_sample(w, i, SAMPLE_TID, ids[i], JFR_STATE_DEFAULT);
	file = finish(w, fd, &chunk);
	ck_assert_uint_eq(jfr_type_by_name(&chunk, "jdk.types.StackTrace")->pool.count, 5);
	/* Libraries: app, libstdc++, libc, and none. Each method once. */
	ck_assert_uint_eq(jfr_type_by_name(&chunk, "java.lang.Class")->pool.count, 4);
	ck_assert_uint_eq(jfr_type_by_name(&chunk, "jdk.types.Method")->pool.count, 7);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	for (i = 0; next_of(&scan, &event, JFR_T_EXECUTION_SAMPLE); i++)
		ck_assert_str_eq(frames(&chunk, &event, &out), expected[i]);
	ck_assert_uint_eq(i, 6);
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(a_full_stack_table_is_counted)
{
	struct buf out = BUF_INIT(4096);
	struct jfr_losses losses = { 0 };
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	uintptr_t pcs[64];
	uint32_t first, id, last = 0;
	unsigned n, i, full = 0;
	int fd;

	w = begin(&fd);
	first = SAMPLE_STACK(w, sample_burn);
	/* Half a megabyte of frames per thousand stacks, all different. */
	for (n = 0; n < 20000; n++) {
		for (i = 0; i < 64; i++)
			pcs[i] = 0x10000 + n % 100 * 64 + i;
		pcs[0] = 0x1000000 + n;
		id = jfr_stack(w, pcs, 64, false);
		full += id == last;
		last = id;
	}
	ck_assert_uint_gt(full, 0);
	ck_assert_uint_lt(full, 17000);
	ck_assert_uint_eq(SAMPLE_STACK(w, sample_burn), first); /* stored ones stay */
	jfr_execution_sample(w, 1, SAMPLE_TID, last, JFR_STATE_DEFAULT);
	jfr_losses(w, 2, &losses);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_EXECUTION_SAMPLE));
	ck_assert_str_eq(frames(&chunk, &event, &out), "[stack table full]");
	ck_assert(next_of(&scan, &event, JFR_T_LOSSES));
	ck_assert(jfr_event_get_field(&chunk, &event, "stackTableFull", &value));
	ck_assert_int_eq(jfr_value_integer(&value),
			 full + 1); /* the first does not equal one before it */
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

/* Add different stacks until COUNT of them had no room. */
static void fill_stacks(struct jfr_writer *w, uintptr_t first, unsigned count)
{
	uintptr_t pcs[64];
	uint32_t id, last = 0;

	for (unsigned n = 0, full = 0; full < count; n++) {
		for (unsigned i = 0; i < 64; i++)
			pcs[i] = first + n % 100 * 64 + i;
		pcs[0] = first + 0x1000000 + n;
		id = jfr_stack(w, pcs, 64, false);
		full += id == last;
		last = id;
	}
}

/* Stacks of the retained memory are not those of samples. */
START_TEST(retained_stacks_without_room_are_counted_apart)
{
	struct jfr_losses losses = { .retained_stacks = 2 };
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	int fd;

	w = begin(&fd);
	fill_stacks(w, 0x10000, 3);
	jfr_use_stack_reserve(w);
	fill_stacks(w, 0x10000000, 10);
	jfr_losses(w, 2, &losses);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_LOSSES));
	ck_assert(jfr_event_get_field(&chunk, &event, "stackTableFull", &value));
	ck_assert_int_eq(jfr_value_integer(&value), 3 + 1);
	ck_assert(jfr_event_get_field(&chunk, &event, "retainedStacksCut", &value));
	ck_assert_int_eq(jfr_value_integer(&value), 2 + 10 + 1);
	done(&chunk, file, fd);
}
END_TEST

/* The labels of the event's context; "" if it has none. */
static const char *context_labels(const struct jfr_chunk *chunk, const struct jfr_event *event,
				  struct buf *out)
{
	struct jfr_value context, labels;

	buf_reset(out);
	if (jfr_event_get_field(chunk, event, "context", &context) &&
	    jfr_value_get_field(chunk, &context, "labels", &labels))
		ck_assert(jfr_value_append_string(chunk, &labels, out));
	return buf_string(out);
}

START_TEST(wall_samples_with_a_wait_and_without)
{
	static const char lines[] = "state=waiting\ncause=lock\nowner=1002\n";
	struct buf out = BUF_INIT(4096);
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	struct jfr_wait wait;
	const uint8_t *file;
	char text[32];
	uint32_t sleep;
	int fd;

	w = begin(&fd);
	sleep = SAMPLE_STACK(w, sample_sleep);
	ck_assert_uint_eq(jfr_wait_description(w, lines, 0), 0);
	wait.description = jfr_wait_description(w, lines, sizeof(lines) - 1);
	wait.owner_stack = SAMPLE_STACK(w, sample_burn);
	wait.owner_delay_ns = 1234567;
	ck_assert_uint_ne(wait.description, 0);
	ck_assert_uint_eq(jfr_wait_description(w, lines, sizeof(lines) - 1), wait.description);
	jfr_use_wait(w, &wait);
	for (int i = 0; i < 2; i++) /* the second one without a wait */
		jfr_wall_sample(w, 5 * SAMPLE_TICKS, SAMPLE_TID, sleep, JFR_STATE_SLEEPING, 3, 9);
	for (int i = 0; i <= JFR_CONTEXTS_MAX; i++) {
		snprintf(text, sizeof(text), "on=%d\n", i);
		jfr_wait_description(w, text, strlen(text));
	}
	jfr_losses(w, 1, &(struct jfr_losses){ 0 });
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, JFR_MASK(JFR_LOSSES));
	ck_assert(next_of(&scan, &event, JFR_T_LOSSES));
	ck_assert_uint_eq(jfr_event_get_integer(&chunk, &event, "contextTableFull"), 2);
	jfr_scan_start(&scan, &chunk, JFR_MASK(JFR_WALL_SAMPLE));
	ck_assert(next_of(&scan, &event, JFR_T_WALL_CLOCK_SAMPLE));
	ck_assert(jfr_event_get_field(&chunk, &event, "wait", &value));
	ck_assert_str_eq(value.type->name, JFR_WAIT_TYPE);
	ck_assert(jfr_value_append_string(&chunk, &value, &out));
	ck_assert_str_eq(buf_string(&out), lines);
	ck_assert_int_eq(event.slot[JFR_OWNER_STACK], wait.owner_stack);
	ck_assert_int_eq(event.slot[JFR_OWNER_DELAY], 1234567);
	ck_assert_int_eq(event.slot[JFR_SPAN], 9);
	ck_assert(next_of(&scan, &event, JFR_T_WALL_CLOCK_SAMPLE));
	ck_assert(!event.slot[JFR_WAIT] && !event.slot[JFR_OWNER_STACK]);
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(times_of_a_thread_and_throttling)
{
	static const struct jfr_thread_times times = {
		.cpu_ns = 1,
		.run_queue_ns = 2,
		.blocked_ns = 3,
		.major_faults = 4,
		.voluntary_switches = 5,
		.involuntary_switches = 6,
		.bytes_read = 7,
		.bytes_written = UINT64_MAX,
	};
	static const char *const fields[] = {
		"cpuTime",           "runQueueTime",        "blockedTime", "majorFaults",
		"voluntarySwitches", "involuntarySwitches", "bytesRead",
	};
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	int64_t tid = 0;
	int fd;

	w = begin(&fd);
	jfr_thread_times(w, 5 * SAMPLE_TICKS, SAMPLE_TICKS, SAMPLE_TID, &times);
	jfr_throttling(w, 6 * SAMPLE_TICKS, SAMPLE_TICKS, 77);
	jfr_logged_state(w, 7 * SAMPLE_TICKS, SAMPLE_TICKS, SAMPLE_TID, 0);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk,
		       JFR_MASK(JFR_THREAD_TIMES) | JFR_MASK(JFR_THROTTLING) |
			       JFR_MASK(JFR_LOGGED_STATE));
	ck_assert(next_of(&scan, &event, JFR_T_THREAD_TIMES));
	ck_assert_int_eq(event.slot[JFR_TIME], 5 * SAMPLE_TICKS);
	ck_assert_int_eq(event.slot[JFR_DURATION], SAMPLE_TICKS);
	ck_assert(jfr_event_thread_id(&chunk, &event, "eventThread", &tid));
	ck_assert_int_eq(tid, SAMPLE_TID);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		ck_assert_uint_eq(jfr_event_get_integer(&chunk, &event, fields[i]), i + 1);
	ck_assert_uint_eq(jfr_event_get_integer(&chunk, &event, "bytesWritten"), UINT64_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_THROTTLING));
	ck_assert_int_eq(event.slot[JFR_DURATION], SAMPLE_TICKS);
	ck_assert_uint_eq(jfr_event_get_integer(&chunk, &event, "throttledTime"), 77);
	ck_assert(next_of(&scan, &event, JFR_T_LOGGED_STATE));
	ck_assert_int_eq(event.slot[JFR_DURATION], SAMPLE_TICKS);
	ck_assert(jfr_event_thread_id(&chunk, &event, "eventThread", &tid));
	ck_assert_int_eq(event.slot[JFR_WAIT], 0);
	done(&chunk, file, fd);
}
END_TEST

/* The values of both a stall and a crash here. */
static const struct jfr_context worked_on = { .labels = "a=b\n", .length = 4 };

START_TEST(stalls_with_a_stack_and_without)
{
	struct buf out = BUF_INIT(4096);
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	int64_t tid = 0;
	int fd;

	w = begin(&fd);
	jfr_use_context(w, jfr_context(w, &worked_on));
	jfr_stall(w, 5 * SAMPLE_TICKS, SAMPLE_TID, SAMPLE_STACK(w, sample_sleep), SAMPLE_TICKS / 20,
		  7);
	jfr_use_context(w, 0);
	jfr_stall(w, 6 * SAMPLE_TICKS, SAMPLE_TID, 0, 1, -1);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, JFR_MASK(JFR_STALL));
	ck_assert(next_of(&scan, &event, JFR_T_STALL));
	ck_assert_int_eq(event.slot[JFR_TIME], 5 * SAMPLE_TICKS);
	ck_assert_int_eq(event.slot[JFR_DURATION], SAMPLE_TICKS / 20);
	ck_assert(jfr_event_thread_id(&chunk, &event, "eventThread", &tid));
	ck_assert_int_eq(tid, SAMPLE_TID);
	ck_assert(jfr_event_get_field(&chunk, &event, "ready", &value));
	ck_assert_int_eq(jfr_value_integer(&value), 7);
	ck_assert_ptr_nonnull(strstr(frames(&chunk, &event, &out), "nanosleep"));
	ck_assert_str_eq(context_labels(&chunk, &event, &out), "a=b\n");
	ck_assert(next_of(&scan, &event, JFR_T_STALL));
	ck_assert(!event.slot[JFR_STACK] && !event.slot[JFR_CONTEXT]);
	ck_assert(jfr_event_get_field(&chunk, &event, "ready", &value));
	ck_assert_int_eq((int)jfr_value_integer(&value), -1);
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(a_crash_tells_what_was_worked_on)
{
	struct buf out = BUF_INIT(4096);
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	int fd;

	w = begin(&fd);
	jfr_use_context(w, jfr_context(w, &worked_on));
	jfr_crash(w, 5 * SAMPLE_TICKS, SAMPLE_TID, SAMPLE_STACK(w, sample_sleep), 11, -6,
		  UINT64_MAX);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_CRASH));
	ck_assert(jfr_event_get_field(&chunk, &event, "address", &value));
	ck_assert_int_eq(jfr_value_integer(&value), -1);
	ck_assert_str_eq(context_labels(&chunk, &event, &out), "a=b\n");
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(threads_have_their_newest_name)
{
	static const char *const expected[] = { "second", "[tid=1002]", "longer than fif" };
	struct buf out = BUF_INIT(4096);
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	unsigned i;
	int fd;

	w = begin(&fd);
	ck_assert(!jfr_thread_named(w, SAMPLE_TID));
	jfr_thread(w, SAMPLE_TID, "first");
	ck_assert(jfr_thread_named(w, SAMPLE_TID));
	for (i = 0; i < 3; i++)
		jfr_execution_sample(w, i, (pid_t)(SAMPLE_TID + i), 0, JFR_STATE_DEFAULT);
	ck_assert(!jfr_thread_named(w, SAMPLE_TID2));
	jfr_thread(w, SAMPLE_TID, "second");
	jfr_thread(w, 1003, "longer than fifteen bytes");
	jfr_thread(w, 77, "never mentioned");
	file = finish(w, fd, &chunk);
	ck_assert_uint_eq(jfr_type_by_name(&chunk, "java.lang.Thread")->pool.count, 3);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	for (i = 0; next_of(&scan, &event, JFR_T_EXECUTION_SAMPLE); i++)
		ck_assert_str_eq(text(&chunk, &event, "sampledThread", &out), expected[i]);
	ck_assert_uint_eq(i, 3);
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(threads_keep_their_name_until_it_is_forgotten)
{
	struct jfr_chunk chunk;
	const uint8_t *file;
	struct jfr_writer *w;
	int fd;

	w = begin(&fd);
	jfr_thread(w, SAMPLE_TID, "first");
	jfr_execution_sample(w, 1, SAMPLE_TID, 0, JFR_STATE_DEFAULT);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, NULL),
		0);
	ck_assert(jfr_thread_named(w, SAMPLE_TID));
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	ck_assert(jfr_thread_named(w, SAMPLE_TID));
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, NULL),
		0);
	jfr_forget_threads(w);
	ck_assert(!jfr_thread_named(w, SAMPLE_TID));
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	file = finish(w, fd, &chunk);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(threads_without_number_are_counted)
{
	struct jfr_losses losses = { 0 };
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	int fd, tid;

	w = begin(&fd);
	for (tid = 1; tid <= JFR_THREADS_MAX + 10; tid++)
		jfr_execution_sample(w, 1, tid, 0, JFR_STATE_DEFAULT);
	jfr_losses(w, 2, &losses);
	file = finish(w, fd, &chunk);
	ck_assert_uint_eq(jfr_type_by_name(&chunk, "java.lang.Thread")->pool.count,
			  JFR_THREADS_MAX);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_LOSSES));
	ck_assert(jfr_event_get_field(&chunk, &event, "threadTableFull", &value));
	ck_assert_int_eq(jfr_value_integer(&value), 10);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(user_events_keep_their_types)
{
	static const uint8_t big[ASPROF_MAX_JFR_EVENT_LENGTH + 1];
	struct buf out = BUF_INIT(8192);
	struct jfr_losses losses = { 0 };
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_value value;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	uint32_t a, b;
	int fd;

	w = begin(&fd);
	a = jfr_user_event_type(w, "a");
	b = jfr_user_event_type(w, "b");
	ck_assert_uint_ne(a, 0);
	ck_assert_uint_ne(b, 0);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(a, jfr_user_event_type(w, "a"));
	jfr_user_event(w, 1, SAMPLE_TID, b, big, ASPROF_MAX_JFR_EVENT_LENGTH);
	jfr_user_event(w, 2, SAMPLE_TID, b, big, ASPROF_MAX_JFR_EVENT_LENGTH + 1);
	jfr_user_event(w, 3, SAMPLE_TID, 0, big, 1);
	jfr_losses(w, 4, &losses);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	ck_assert(next_of(&scan, &event, JFR_T_USER_EVENT));
	ck_assert_str_eq(text(&chunk, &event, "type", &out), "b");
	ck_assert(jfr_event_get_field(&chunk, &event, "data", &value));
	buf_reset(&out);
	ck_assert(jfr_value_append_string(&chunk, &value, &out));
	ck_assert_uint_eq(out.length, ASPROF_MAX_JFR_EVENT_LENGTH);
	ck_assert(next_of(&scan, &event, JFR_T_LOSSES));
	ck_assert(jfr_event_get_field(&chunk, &event, "eventsDropped", &value));
	ck_assert_int_eq(jfr_value_integer(&value), 2);
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(long_strings_are_cut)
{
	struct buf out = BUF_INIT(16384);
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_writer *w;
	struct jfr_scan scan;
	const uint8_t *file;
	char string[20000];
	unsigned i;
	int fd;

	memset(string, 'x', sizeof(string) - 1);
	string[sizeof(string) - 1] = '\0';
	w = begin(&fd);
	for (i = 0; i < 20; i++)
		jfr_setting(w, i, string, string);
	file = finish(w, fd, &chunk);
	jfr_scan_start(&scan, &chunk, UINT32_MAX);
	for (i = 0; next_of(&scan, &event, JFR_T_ACTIVE_SETTING); i++)
		ck_assert_uint_eq(strlen(text(&chunk, &event, "value", &out)), JFR_STRING_MAX);
	ck_assert_uint_eq(i, 20);
	buf_free(&out);
	done(&chunk, file, fd);
}
END_TEST

START_TEST(events_without_a_chunk_go_nowhere)
{
	struct jfr_writer *w;
	int fd = memory_file();

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	jfr_execution_sample(w, 1, SAMPLE_TID, 0, JFR_STATE_DEFAULT);
	jfr_setting(w, 1, "a", "b");
	ck_assert_int_eq(jfr_chunk_end(w, 1, 1, sample_namer, NULL, NULL), -EINVAL);
	ck_assert_uint_eq(length_of(fd), 0);
	ck_assert_uint_eq(jfr_chunk_bytes(w), 0);
	jfr_writer_close(w);
	jfr_writer_close(NULL);
	close(fd);
}
END_TEST

static int failing_namer(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
			 struct jfr_frame_name *out)
{
	(void)context, (void)pcs, (void)is_return, (void)count, (void)out;
	return -ENOMEM;
}

START_TEST(a_failing_namer_voids_the_chunk)
{
	struct jfr_writer *w;
	off_t end = -1;
	int fd;

	w = begin(&fd);
	SAMPLE_STACK(w, sample_burn);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, failing_namer, NULL, &end),
		-ENOMEM);
	ck_assert_int_eq(end, -1);
	ck_assert_uint_eq(length_of(fd), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, failing_namer, NULL, &end),
		0);
	ck_assert_uint_eq(length_of(fd), (uint64_t)end);
	jfr_writer_close(w);
	close(fd);
}
END_TEST

START_TEST(a_full_device_is_told)
{
	struct jfr_writer *w;
	int fd = open("/dev/full", O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), -ENOSPC);
	jfr_execution_sample(w, 1, SAMPLE_TID, 0, JFR_STATE_DEFAULT);
	ck_assert_int_eq(jfr_chunk_end(w, 1, 1, sample_namer, NULL, NULL), -ENOSPC);
	jfr_writer_close(w);
	close(fd);
}
END_TEST

START_TEST(a_full_disk_voids_the_chunk_alone)
{
	struct jfr_writer *w;
	off_t first, second;
	unsigned i;
	int fd;

	w = begin(&fd);
	ck_assert_int_eq(
		jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL, &first),
		0);
	limit_files(100000);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	for (i = 0; i < 100000; i++)
		jfr_execution_sample(w, i, SAMPLE_TID, 0, JFR_STATE_DEFAULT);
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL,
				       &second),
			 -EFBIG);
	ck_assert_uint_eq(length_of(fd), (uint64_t)first);
	/* The next one fits, and begins at the position of the removed one. */
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	jfr_execution_sample(w, 1, SAMPLE_TID, 0, JFR_STATE_DEFAULT);
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + 1, SAMPLE_TICKS + 1, sample_namer, NULL,
				       &second),
			 0);
	ck_assert_int_gt(second, first);
	jfr_writer_close(w);
	close(fd);
}
END_TEST

START_TEST(any_failing_write_voids_the_chunk)
{
	/* From no space at all to space for all but the pools' last byte. */
	static const int short_by[] = { 1, 2, 50, 100, 200, 300, 400, 500 };
	struct jfr_writer *w;
	off_t whole, end;
	int fd = memory_file(), err;

	ck_assert_int_eq(sample_write(fd, &whole), 0);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	limit_files((rlim_t)(whole - short_by[_i]));
	ck_assert_int_eq(sample_write(fd, &end), -EFBIG);
	ck_assert_uint_lt(length_of(fd), (uint64_t)whole);

	limit_files(30);
	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	err = jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS);
	ck_assert_int_eq(err, -EFBIG);
	ck_assert_uint_eq(length_of(fd), 0);
	jfr_writer_close(w);
	close(fd);
}
END_TEST

#if OWN_ALLOCATOR
START_TEST(any_failing_allocation_is_survived)
{
	unsigned nth, failures = 0, good = 0;
	int err, fd = memory_file();
	struct jfr_header header;
	struct jfr_error error;
	uint8_t *file;
	off_t end;

	for (nth = 1; !good; nth++) {
		ck_assert_uint_lt(nth, 1000);
		ck_assert_int_eq(ftruncate(fd, 0), 0);
		allocations = 0;
		fail_from = nth;
		err = sample_write(fd, &end);
		good = allocations < nth;
		fail_from = 0;
		ck_assert(err == 0 || err == -ENOMEM);
		failures += err != 0;
		if (err)
			continue;
		/* Without some memory, stacks are lost, but the chunks are complete. */
		file = map(fd);
		ck_assert_int_eq(jfr_header_read(&header, file, length_of(fd), 0, &error), 0);
		munmap(file, length_of(fd));
	}
	ck_assert_uint_gt(failures, 10);
	close(fd);
}
END_TEST
#endif

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, varint, 0, sizeof(varints) / sizeof(*varints));
	tcase_add_test(tcase, padded_numbers_and_strings);
	tcase_add_test(tcase, header_is_patched_last);
	tcase_add_test(tcase, a_calibrated_writer_tells_the_same_rate_in_each_chunk);
	tcase_add_test(tcase, malloc_to_the_byte);
	tcase_add_test(tcase, memory_chunks_have_short_times);
	tcase_add_test(tcase, chunks_with_others_have_no_duration);
	tcase_add_test(tcase, chunks_move_behind_those_of_another_writer);
	tcase_add_test(tcase, chunks_that_cannot_move_stay);
	tcase_add_test(tcase, two_chunks_hold_every_event);
	tcase_add_test(tcase, chunks_share_no_id);
	tcase_add_test(tcase, an_unfinished_chunk_is_told);
	tcase_add_test(tcase, a_base_leaves_what_is_before_it);
	tcase_add_test(tcase, stacks_are_shared_and_named);
	tcase_add_test(tcase, a_full_stack_table_is_counted);
	tcase_add_test(tcase, retained_stacks_without_room_are_counted_apart);
	tcase_add_test(tcase, wall_samples_with_a_wait_and_without);
	tcase_add_test(tcase, times_of_a_thread_and_throttling);
	tcase_add_test(tcase, stalls_with_a_stack_and_without);
	tcase_add_test(tcase, a_crash_tells_what_was_worked_on);
	tcase_add_test(tcase, threads_have_their_newest_name);
	tcase_add_test(tcase, threads_keep_their_name_until_it_is_forgotten);
	tcase_add_test(tcase, threads_without_number_are_counted);
	tcase_add_test(tcase, user_events_keep_their_types);
	tcase_add_test(tcase, long_strings_are_cut);
	tcase_add_test(tcase, events_without_a_chunk_go_nowhere);
	tcase_add_test(tcase, a_failing_namer_voids_the_chunk);
	tcase_add_test(tcase, a_full_device_is_told);
	tcase_add_test(tcase, a_full_disk_voids_the_chunk_alone);
	tcase_add_loop_test(tcase, any_failing_write_voids_the_chunk, 0, 8);
#if OWN_ALLOCATOR
	tcase_add_test(tcase, any_failing_allocation_is_survived);
#endif
	return suite_run(tcase);
}
