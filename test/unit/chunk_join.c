/* core/agent/chunk_join.c: chunks of async-profiler's become one that has all events of them, with the same stacks, and can be
 * read after each; what does not fit stays as it was. */
#include "core/agent/chunk_join.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "profile/jfr/jfr_read.h"
#include "test/fixtures/suite.h"

#define FILE_OF_CHUNKS "test/fixtures/jfr/chunks.jfr"
#define CHUNKS         4
#define JOINED         3 /* of these, as the last one begins more than five seconds after the first */
#define TYPES          9700
#define NS_PER_S       1000000000

static uint8_t data[4 << 20];
static uint64_t length, begins[CHUNKS + 1];

static int out;
static off_t end;
static struct chunk_join join;

static void read_file(void)
{
	int fd = open(FILE_OF_CHUNKS, O_RDONLY | O_CLOEXEC);
	uint64_t size;

	ck_assert_msg(fd >= 0, "%s", FILE_OF_CHUNKS);
	length = (uint64_t)lseek(fd, 0, SEEK_END);
	ck_assert_uint_lt(length, sizeof(data));
	ck_assert_int_eq(fd_read(fd, data, length, 0), 0);
	close(fd);
	for (int i = 0; i < CHUNKS; i++) {
		memcpy(&size, data + begins[i] + 8, sizeof(size));
		begins[i + 1] = begins[i] + be64toh(size);
	}
	ck_assert_uint_eq(begins[CHUNKS], length);
}

static void set_up(void)
{
	read_file();
	out = memfd_create("joined", MFD_CLOEXEC);
	ck_assert_int_eq(fd_write(out, "before", 6, -1), 0);
	end = 6;
}

static void tear_down(void)
{
	chunk_join_end(&join);
	close(out);
}

/* The Ith, as it is in DATA now. */
static void add(int i)
{
	int in = memfd_create("chunk", MFD_CLOEXEC);

	ck_assert_int_eq(fd_write(in, data + begins[i], begins[i + 1] - begins[i], 100), 0);
	ck_assert_int_eq(chunk_join_add(&join, out, &end, in, 100, begins[i + 1] - begins[i]), 0);
	ck_assert_int_eq(lseek(out, 0, SEEK_END), end);
	close(in);
}

/* What is told of a stack: its functions, with where they are from. */
static void tell_stack(const struct jfr_chunk *chunk, const struct jfr_event *event,
		       struct buf *text)
{
	struct jfr_value stack, frames, frame, method, part;
	struct cursor c;

	if (!jfr_event_get_field(chunk, event, "stackTrace", &stack))
		return;
	ck_assert(jfr_value_get_field(chunk, &stack, "frames", &frames));
	c = (struct cursor){ frames.at, frames.end, false };
	for (uint64_t count = cursor_varint(&c); count; count--) {
		frame = (struct jfr_value){ frames.type, c.at, c.end };
		ck_assert(jfr_value_get_field(chunk, &frame, "method", &method));
		ck_assert(jfr_value_get_field(chunk, &method, "name", &part));
		ck_assert(jfr_value_append_string(chunk, &part, text));
		ck_assert(jfr_value_get_field(chunk, &method, "type", &part));
		ck_assert(jfr_value_get_field(chunk, &part, "name", &part));
		buf_append(text, " ", 1);
		ck_assert(jfr_value_append_string(chunk, &part, text));
		ck_assert(jfr_value_get_field(chunk, &frame, "type", &part));
		buf_append(text, " ", 1);
		ck_assert(jfr_value_append_string(chunk, &part, text));
		buf_append(text, ";", 1);
		jfr_skip_value(&c, frames.type);
	}
}

static void tell_thread(const struct jfr_chunk *chunk, const struct jfr_event *event,
			struct buf *text)
{
	struct jfr_value thread, name;

	if ((jfr_event_get_field(chunk, event, "eventThread", &thread) ||
	     jfr_event_get_field(chunk, event, "sampledThread", &thread)) &&
	    jfr_value_get_field(chunk, &thread, "osName", &name))
		ck_assert(jfr_value_append_string(chunk, &name, text));
}

/* A line for each event of the chunk at OFFSET of FILE, which ends there. */
static void tell_events(const uint8_t *file, uint64_t offset, uint64_t size, struct buf *text)
{
	struct jfr_header header;
	struct jfr_error error;
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_scan scan;

	ck_assert_int_eq(jfr_header(&header, file, offset + size, offset, &error), 0);
	ck_assert_uint_eq(header.size, size);
	ck_assert_int_eq(jfr_chunk_open(&chunk, file, &header), 0);
	jfr_scan(&scan, &chunk, UINT32_MAX);
	while (jfr_scan_next(&scan, &event)) {
		double seconds = (double)(event.slot[JFR_TIME] - header.start_ticks) /
				 (double)header.ticks_per_second;

		if (!event.type)
			continue;
		buf_printf(text, "%s %.4f ", event.type->name,
			   (double)(header.start_ns % (1000 * (int64_t)NS_PER_S)) / NS_PER_S +
				   seconds);
		tell_thread(&chunk, &event, text);
		buf_append(text, " ", 1);
		tell_stack(&chunk, &event, text);
		buf_append(text, "\n", 1);
	}
	ck_assert_msg(!chunk.error.what, "%s", chunk.error.what);
	jfr_chunk_close(&chunk);
}

/* Lines that a rounding has moved by a digit are the same still. */
static void same_lines(struct buf *a, struct buf *b)
{
	char *x = (char *)(uintptr_t)buf_string(a), *y = (char *)(uintptr_t)buf_string(b), *p, *q;
	unsigned lines = 0;

	while ((p = strsep(&x, "\n")) && (q = strsep(&y, "\n"))) {
		char type[2][100] = { "", "" };
		double at[2] = { 0, 0 };
		int behind[2] = { 0, 0 };

		sscanf(p, "%99s %lf %n", type[0], &at[0], &behind[0]);
		sscanf(q, "%99s %lf %n", type[1], &at[1], &behind[1]);
		ck_assert_str_eq(type[0], type[1]);
		ck_assert_double_eq_tol(at[0], at[1], 0.0003);
		ck_assert_str_eq(p + behind[0], q + behind[1]);
		lines++;
	}
	ck_assert(!x && !y);
	ck_assert_uint_gt(lines, 10000);
}

static uint8_t *written(void)
{
	uint8_t *bytes = mmap(NULL, (size_t)end, PROT_READ, MAP_SHARED, out, 0);

	ck_assert_ptr_ne(bytes, MAP_FAILED);
	return bytes;
}

static unsigned chunks(void)
{
	uint8_t *bytes = written();
	struct jfr_header header;
	struct jfr_error error;
	unsigned count = 0;

	for (uint64_t at = 6; at < (uint64_t)end; at += header.size, count++)
		ck_assert_int_eq(jfr_header(&header, bytes, (uint64_t)end, at, &error), 0);
	munmap(bytes, (size_t)end);
	return count;
}

START_TEST(all_that_they_have_is_in_one)
{
	struct buf was = BUF_INIT(64 << 20), is = BUF_INIT(64 << 20);
	uint8_t *bytes;

	for (int i = 0; i < JOINED; i++) {
		tell_events(data, begins[i], begins[i + 1] - begins[i], &was);
		add(i);
		ck_assert_uint_eq(chunks(), 1);
	}
	bytes = written();
	tell_events(bytes, 6, (uint64_t)end - 6, &is);
	same_lines(&was, &is);
	munmap(bytes, (size_t)end);
	/* The types are there once, and what the first chunk has named is not named again. */
	ck_assert_uint_lt((uint64_t)end, begins[JOINED] - (JOINED - 1) * (TYPES + 500));
	buf_free(&was);
	buf_free(&is);
}
END_TEST

/* What a process that is killed then leaves. */
START_TEST(is_whole_after_each_and_in_between)
{
	struct buf told = BUF_INIT(64 << 20);
	uint8_t *bytes;
	off_t whole;

	add(0);
	whole = end;
	add(1);
	bytes = written();
	tell_events(bytes, 6, (uint64_t)end - 6, &told);
	munmap(bytes, (size_t)end);
	/* Appended, and the header was not written any more. */
	ck_assert_int_eq(fd_write(out, data, 40, 6), 0);
	ck_assert_int_eq(fd_write(out, data + 40, 28, 46), 0);
	bytes = written();
	tell_events(bytes, 6, (uint64_t)whole - 6, &told);
	munmap(bytes, (size_t)end);
	buf_free(&told);
}
END_TEST

START_TEST(five_seconds_are_enough_for_one)
{
	for (int i = 0; i < CHUNKS; i++)
		add(i);
	ck_assert_uint_eq(chunks(), 2);
}
END_TEST

START_TEST(what_was_handed_out_is_left_alone)
{
	off_t first;

	add(0);
	first = end;
	chunk_join_end(&join);
	add(1);
	add(2);
	ck_assert_uint_eq(chunks(), 2);
	ck_assert_int_eq(first, 6 + (off_t)begins[1]);
}
END_TEST

static void put_64(int i, unsigned at, uint64_t value)
{
	value = htobe64(value);
	memcpy(data + begins[i] + at, &value, sizeof(value));
}

/* Each is a chunk of its own, of the same bytes; and the next one is joined to no other than it. */
START_TEST(what_does_not_fit_stays_as_it_is)
{
	uint8_t *chunk = data + begins[1], *bytes;
	uint64_t constants;
	off_t first;

	add(0);
	first = end;
	memcpy(&constants, chunk + 16, sizeof(constants));
	constants = be64toh(constants);
	switch (_i) {
	case 0: /* Another type, or the same by another name. */
		chunk[500] ^= 1;
		break;
	case 1: /* The constants are not the last. */
		put_64(1, 16, constants - 1);
		break;
	case 2: /* There are some before them. */
		chunk[constants + 5 + 1 + 7 + 1] ^= 1;
		break;
	case 3: /* The types do not come first. */
		put_64(1, 24, 70);
		break;
	case 4: /* An event of no size. */
		chunk[68 + TYPES] = 0;
		break;
	case 5: /* One that reaches beyond the events. */
		memset(chunk + 68 + TYPES, 0xff, 4);
		break;
	case 6: /* One with a string, which are numbered anew in each chunk. */
		ck_assert_ptr_nonnull(jfr_type(&join.left.types, "profiler.Span"));
		chunk[68 + TYPES + 1] = (uint8_t)jfr_type(&join.left.types, "profiler.Span")->id;
		break;
	}
	add(1);
	ck_assert_int_eq(end - first, (off_t)(begins[2] - begins[1]));
	bytes = written();
	ck_assert_mem_eq(bytes + first, chunk, begins[2] - begins[1]);
	ck_assert_mem_eq(bytes + 6, data, begins[1]);
	munmap(bytes, (size_t)end);
}
END_TEST

/* No byte of it is believed: whatever it is, the file has whole chunks, or what was there before and the chunk itself. */
START_TEST(is_not_led_astray)
{
	uint64_t size = begins[4] - begins[3];
	uint8_t was;

	for (uint64_t at = 68 + TYPES; at < size; at++) {
		chunk_join_end(&join);
		ck_assert_int_eq(ftruncate(out, 6), 0);
		end = lseek(out, 6, SEEK_SET);
		add(2);
		was = data[begins[3] + at];
		data[begins[3] + at] ^= (uint8_t)(1u << at % 8);
		add(3);
		data[begins[3] + at] = was;
		ck_assert_uint_le(chunks(), 2);
	}
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("chunk_join");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_add_test(c, all_that_they_have_is_in_one);
	tcase_add_test(c, is_whole_after_each_and_in_between);
	tcase_add_test(c, five_seconds_are_enough_for_one);
	tcase_add_test(c, what_was_handed_out_is_left_alone);
	tcase_add_loop_test(c, what_does_not_fit_stays_as_it_is, 0, 7);
	tcase_add_test(c, is_not_led_astray);
	return suite_run(c);
}
