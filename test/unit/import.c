/* Imported files: their stacks and weights, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/buf.h"
#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/profile.h"
#include "profile/encode/proto.h"
#include "profile/import/import.h"
#include "test/fixtures/suite.h"

#define TIME_NS 1700000000000000000

/* Convert DATA, and read the result into PROFILE. Returns the result of the conversion. */
static int convert(struct profile *profile, const void *data, size_t length,
		   struct import_problem *problem)
{
	const struct import_format *format = import_find_format(data, length);
	struct query query = QUERY_INIT;
	struct memory_feed feed;
	int fd = memfd_create("import", MFD_CLOEXEC), err;
	size_t size;
	void *map;

	ck_assert_ptr_nonnull(format);
	query.contexts = true;
	err = import_convert(format, data, length, fd, TIME_NS, problem);
	if (!err) {
		size = (size_t)lseek(fd, 0, SEEK_END);
		map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		ck_assert_ptr_ne(map, MAP_FAILED);
		memory_feed_init(&feed, map, size);
		ck_assert_int_eq(profile_read(profile, &query, &feed.feed, ~0u), 0);
		munmap(map, size);
	}
	close(fd);
	return err;
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	if (x->count < y->count || x->count > y->count)
		return x->count > y->count ? -1 : 1;
	return (x->thread < y->thread) - (x->thread > y->thread);
}

/* Append all samples to OUT: lines of "metric [thread] outermost;...;innermost count total". */
static void print_samples(const struct profile *p, struct buf *out)
{
	if (p->count)
		qsort(p->samples, p->count, sizeof(*p->samples), compare_samples);
	for (uint32_t i = 0; i < p->count; i++) {
		const struct sample *s = &p->samples[i];
		const uint32_t *frames = intern_key(&p->stacks, s->stack);
		uint32_t depth = intern_length(&p->stacks, s->stack) / sizeof(*frames);
		char thread[256];

		profile_thread_name(p, s->thread, thread, sizeof(thread));
		buf_printf(out, "%s %s ", metric_texts[s->metric].name, thread);
		for (uint32_t k = depth; k; k--)
			buf_printf(out, "%s%s", profile_frame_name(p, frames[k - 1]),
				   k > 1 ? ";" : "");
		buf_printf(out, " %.0f %.0f %s|", s->count, s->total,
			   intern_text(&p->names, s->context));
	}
}

static const struct {
	const char *input, *samples;
} texts[] = {
	{ "# comment\n\na;b 3\na 2\r\na;b 4", "cpu [tid=0] a;b 7 0 |cpu [tid=0] a 2 0 |" },
	{ "[worker tid=12];a_[j];sys_[k] 5\n[tid=13];b 1\n",
	  "cpu [worker tid=12] a;sys 5 0 |cpu [tid=13] b 1 0 |" },
	{ "a b::c(int) 4294967299\n", "cpu [tid=0] a b::c(int) 4294967299 0 |" },
	{ "a 1152921504606846976\nb 1\n",
	  "cpu [tid=0] a 1152921504606846976 0 |cpu [tid=0] b 1 0 |" },
	{ "a:b c:5 12/34 [003] 5.000001: cycles: \n\t7f12 main+0x1 (/x)\n",
	  "cpu [a:b c:5 tid=34] main 1 0 |" },
	{ ";;a;;b;; 1\n", "cpu [tid=0] a;b 1 0 |" },
	{ "a 0\n", "" },
	{ "my prog 12/34 [003] 5.000001: cycles: \n"
	  "\tffffffff81000000 do_syscall_64+0x10 ([kernel.kallsyms])\n"
	  "\t7f12 main+0x1 (/opt/my prog)\n\n"
	  "my prog 12/34 [003] 5.000002: cycles: \n"
	  "\tffffffff81000000 do_syscall_64+0x12 ([kernel.kallsyms])\n"
	  "\t7f12 main+0x1 (/opt/my prog)\n"
	  "other 7 6.5:  1000 cycles: \n\t7f12 main+0x2 (/opt/my prog)\n\n"
	  "other 7 6.5:  1000 faults: \n\t7f12 main+0x2 (/opt/my prog)\n\n",
	  "cpu [my prog tid=34] main;do_syscall_64 2 0 |cpu [other tid=7] main 1 0 |" },
	{ "  sh   0 [000]     5.1: 10 cycles:u:  7f12 idle (/x)\n"
	  "  sh   0 [000]     5.2: 10 cycles:u:  7f12 idle (/x)\n",
	  "cpu [sh tid=4194305] idle 2 0 |" },
	{ "<!DOCTYPE html>\nconst cpool = [\n'all',\n' main',\n'$tenance',\n' it\\'s \\\\ "
	  "here'\n];\n"
	  "unpack(cpool);\n\nn(3,10)\nu(11,7)\nu(17)\nf(27,1,7,3)\n\nsearch();\n",
	  "cpu [tid=0] main;maintenance 7 0 |cpu [tid=0] it's \\ here 3 0 |" },
};

START_TEST(text_has_stacks)
{
	struct profile profile = PROFILE_INIT;
	struct import_problem problem = { 0 };
	struct buf out = BUF_INIT(1 << 20);

	ck_assert_int_eq(convert(&profile, texts[_i].input, strlen(texts[_i].input), &problem), 0);
	print_samples(&profile, &out);
	ck_assert_str_eq(buf_string(&out), texts[_i].samples);
	buf_free(&out);
	profile_free(&profile);
}
END_TEST

static const struct {
	const char *input;
	uint64_t offset;
} damaged[] = {
	{ "a;b 3\nno number\n", 6 },
	{ "a 1\nb 99999999999999999999\n", 4 },
	{ "a 18446744073709551615\n", 0 },
	{ "a 1\nb 2305843009213693951\n", 4 },
	{ "a 1/2 5.0: x: 7f f (/x)\nb\n", 24 },
	{ "<h>const cpool = [\n'all\nunpack(cpool)", 18 },
	{ "<h>const cpool = [\n'all'];\nunpack(cpool);\nn(3,10)\nf(3,9,0,1)\n", 50 },
	{ "<h>const cpool = [\n'all'];\nunpack(cpool);\nn(11,10)\n", 42 },
};

START_TEST(damage_is_reported)
{
	struct profile profile = PROFILE_INIT;
	struct import_problem problem = { 0 };
	int err = convert(&profile, damaged[_i].input, strlen(damaged[_i].input), &problem);

	ck_assert_int_eq(err, -EBADMSG);
	ck_assert_ptr_nonnull(problem.what);
	ck_assert_uint_eq(problem.offset, damaged[_i].offset);
}
END_TEST

START_TEST(other_files_are_no_profiles)
{
	static const char *const others[] = { "",    "\n",           "hello\n",       "{}",
					      "FLR", "a b\n1 2 x\n", "<html></html>", "12\n",
					      " 5\n" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!import_find_format((const uint8_t *)others[i], strlen(others[i])),
			      "%s", others[i]);
}
END_TEST

/* Few bytes that could stand for much more: the time to refuse or convert them is bounded. The slowest one takes a
 * second; without the bounds, each would take minutes. */
static void expect_fast(struct buf *file)
{
	struct timespec before, after;
	struct profile profile = PROFILE_INIT;
	struct import_problem problem = { 0 };
	const struct import_format *format;

	ck_assert_ptr_nonnull(file->data);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	format = import_find_format(file->data, file->length);
	if (format)
		convert(&profile, file->data, file->length, &problem);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	ck_assert_int_lt(after.tv_sec - before.tv_sec, 40);
	profile_free(&profile);
	buf_free(file);
}

START_TEST(text_is_bounded)
{
	struct buf file = BUF_INIT(1u << 24);

	/* Weights are not events. */
	for (int i = 0; i < 20000; i++)
		buf_printf(&file, "a%d 1000000000000\n", i);
	expect_fast(&file);
	/* Words with colons, which could be times. */
	for (int i = 0; i < 1000000; i++)
		buf_append(&file, "1.1:", 4);
	expect_fast(&file);
	/* Stacks of 4000 frames that differ in the innermost one. */
	buf_printf(&file, "<h>const cpool = [\n");
	for (int i = 0; i < 100000; i++)
		buf_printf(&file, "' %d',\n", i);
	buf_printf(&file, "];\nunpack(cpool);\nn(3,1000000000)\n");
	for (int i = 0; i < 4000; i++)
		buf_printf(&file, "u(8,1000000000)\n");
	for (int i = 0; i < 100000; i++)
		buf_printf(&file, "n(%d,1)\n", 8 * i);
	expect_fast(&file);
}
END_TEST

static void add_message(struct buf *to, unsigned field, const int64_t *numbers, size_t count)
{
	struct buf message = BUF_INIT(4096);

	for (size_t i = 0; i < count; i++)
		proto_int(&message, (unsigned)i + 1, numbers[i]);
	proto_message(to, field, &message);
	buf_free(&message);
}

#define ADD(to, field, ...)                                      \
	add_message(to, field, (const int64_t[]){ __VA_ARGS__ }, \
		    sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* Go's profile of the heap: allocated and live memory in one sample, and a location of two frames,
 * with lists that are not packed. */
START_TEST(pprof_has_stacks)
{
	static const char *const strings[] = {
		"",        "alloc_objects", "count",       "alloc_space",
		"bytes",   "inuse_objects", "inuse_space", "caller",
		"inlined", "/bin/service",  "route",       "/a"
	};
	struct profile profile = PROFILE_INIT;
	struct import_problem problem = { 0 };
	struct buf file = BUF_INIT(1 << 16), sample = BUF_INIT(4096), location = BUF_INIT(4096),
		   out = BUF_INIT(1 << 20);

	for (int i = 1; i <= 4; i++)
		ADD(&file, 1, (int[]){ 1, 3, 5, 6 }[i - 1], i % 2 ? 2 : 4);
	proto_int(&sample, 1, 77);
	proto_int(&sample, 2, 10);
	proto_int(&sample, 2, 1000);
	proto_int(&sample, 2, 4);
	proto_int(&sample, 2, 400);
	ADD(&sample, 3, 10, 11);
	proto_message(&file, 2, &sample);
	proto_int(&location, 1, 77);
	proto_int(&location, 2, 5);
	ADD(&location, 4, 2, 0);
	ADD(&location, 4, 1, 0);
	proto_message(&file, 4, &location);
	ADD(&file, 3, 5, 0, 0, 0, 9);
	ADD(&file, 5, 1, 7);
	ADD(&file, 5, 2, 8);
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		proto_string(&file, 6, strings[i]);
	ck_assert_int_eq(convert(&profile, file.data, file.length, &problem), 0);
	print_samples(&profile, &out);
	ck_assert_str_eq(buf_string(&out), "alloc [tid=0] caller;inlined 10 1000 route=/a\n|"
					   "live [tid=0] caller;inlined 4 400 |");
	buf_free(&file);
	buf_free(&sample);
	buf_free(&location);
	buf_free(&out);
	profile_free(&profile);
}
END_TEST

#define MANY 200000

/* A pprof file with a table and COUNT samples, all of which use location 1. */
static void add_samples(struct buf *file, struct buf *location, int count)
{
	struct buf sample = BUF_INIT(4096);

	ADD(file, 1, 1, 2);
	proto_string(file, 6, "");
	proto_string(file, 6, "cpu");
	proto_message(file, 4, location);
	for (int i = 0; i < count; i++) {
		buf_reset(&sample);
		proto_int(&sample, 1, 1);
		proto_int(&sample, 1, 2 + i);
		proto_int(&sample, 2, 1);
		proto_message(file, 2, &sample);
	}
	buf_free(&sample);
	buf_free(location);
}

/* The outermost frames of a deep stack are omitted. */
START_TEST(deep_text_has_its_innermost_frames)
{
	struct buf file = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	struct profile profile = PROFILE_INIT;
	struct import_problem problem = { 0 };

	buf_printf(&file, "outermost");
	for (int i = 0; i < 5000; i++)
		buf_printf(&file, ";f");
	buf_printf(&file, ";innermost 10\n");
	ck_assert_int_eq(convert(&profile, file.data, file.length, &problem), 0);
	print_samples(&profile, &out);
	ck_assert_ptr_null(strstr(buf_string(&out), "outermost"));
	ck_assert_ptr_nonnull(strstr(buf_string(&out), ";f;innermost 10 0"));
	profile_free(&profile);
	buf_free(&file);
	buf_free(&out);
}
END_TEST

/* A sample with one location of long names, and many times one of many frames. */
static void add_large_sample(struct buf *file, struct buf *part)
{
	struct buf sample = BUF_INIT(1u << 22);

	ADD(file, 1, 1, 2);
	proto_string(file, 6, "");
	proto_string(file, 6, "cpu");
	buf_reset(part);
	proto_int(part, 1, 1);
	for (int i = 0; i < 1000; i++)
		ADD(part, 4, 1, i);
	proto_message(file, 4, part);
	buf_reset(part);
	proto_int(part, 1, 2);
	for (int i = 0; i < MANY; i++)
		add_message(part, 4, NULL, 0);
	proto_message(file, 4, part);
	proto_int(&sample, 1, 1);
	for (int i = 0; i < MANY; i++)
		proto_int(&sample, 1, 2);
	proto_int(&sample, 2, 1);
	proto_message(file, 2, &sample);
	buf_free(&sample);
}

START_TEST(pprof_is_bounded)
{
	struct buf file = BUF_INIT(1u << 26), part = BUF_INIT(1u << 24), big = BUF_INIT(1u << 22);

	/* A location of many frames in many samples. */
	proto_int(&part, 1, 1);
	for (int i = 0; i < MANY; i++)
		ADD(&part, 4, 1, i);
	add_samples(&file, &part, MANY);
	expect_fast(&file);
	/* A location of many frames, all of a function with many fields and a long name. */
	proto_int(&part, 1, 1);
	for (int i = 0; i < MANY; i++)
		ADD(&part, 4, 1, i);
	add_samples(&file, &part, 1);
	proto_int(&part, 1, 1);
	proto_int(&part, 2, 2);
	for (int i = 0; i < MANY; i++)
		proto_int(&part, 9, 1);
	proto_message(&file, 5, &part);
	for (int i = 0; i < MANY; i++)
		buf_append(&big, "long name ", 10);
	buf_append(&big, "", 1);
	proto_string(&file, 6, (const char *)big.data);
	expect_fast(&file);
	add_large_sample(&file, &part);
	ADD(&file, 5, 1, 3);
	proto_string(&file, 6, (const char *)big.data);
	expect_fast(&file);
	buf_free(&part);
	buf_free(&big);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("import");

	tcase_add_loop_test(tcase, text_has_stacks, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_loop_test(tcase, damage_is_reported, 0, sizeof(damaged) / sizeof(damaged[0]));
	tcase_add_test(tcase, other_files_are_no_profiles);
	tcase_add_test(tcase, pprof_has_stacks);
	tcase_add_test(tcase, deep_text_has_its_innermost_frames);
	tcase_add_test(tcase, text_is_bounded);
	tcase_add_test(tcase, pprof_is_bounded);
	tcase_set_timeout(tcase, 120);
	return suite_run(tcase);
}
