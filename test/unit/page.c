/* profile/page/: numbers and texts are read back as written; names never end an element; a profile's
 * samples are added up by stack, thread, labels and row of time; small frames are merged. */
#include "profile/page/page.h"
#include "engine/jfr/jfr_types.h"
#include "profile/page/page_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "test/fixtures/suite.h"

/* What page_data.h wrote, unpacked. */
static uint8_t bytes[1 << 16];
static size_t length, at;

static unsigned digit_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return c == '=' ? 0 : (unsigned)(strchr(digits, c) - digits);
}

static void unpack(const char *text)
{
	static uint8_t packed[1 << 16];
	z_stream stream = { .next_in = packed, .next_out = bytes, .avail_out = sizeof(bytes) };
	size_t used = 0;

	text = strchr(text, '>') + 1;
	for (; *text != '<'; text += 4) {
		uint32_t three = digit_value(text[0]) << 18 | digit_value(text[1]) << 12 |
				 digit_value(text[2]) << 6 | digit_value(text[3]);

		packed[used++] = (uint8_t)(three >> 16);
		packed[used++] = (uint8_t)(three >> 8);
		packed[used++] = (uint8_t)three;
	}
	ck_assert_str_eq(text, "</script>\n");
	stream.avail_in = (uInt)used;
	ck_assert_int_eq(inflateInit2(&stream, MAX_WBITS | 16), Z_OK);
	ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	length = stream.total_out;
	at = 0;
}

static uint64_t number(void)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		ck_assert_uint_lt(at, length);
		value |= (uint64_t)(bytes[at] & 127) << shift;
		if (bytes[at++] < 128)
			return value;
	}
}

/* Read texts, and expect WANTED, with '|' after each. */
static void expect_texts(const char *wanted)
{
	char seen[1024] = "";
	uint64_t count = number(), size = number(), end = at + size;

	for (; count; count--) {
		strcat(strcat(seen, (const char *)bytes + at), "|");
		at += strlen((const char *)bytes + at) + 1;
	}
	ck_assert_uint_eq(at, end);
	ck_assert_str_eq(seen, wanted);
}

static void expect_numbers(const char *wanted)
{
	char seen[1024] = "", one[32];

	for (const char *p = wanted; *p; p += strcspn(p, " "), p += *p == ' ') {
		snprintf(one, sizeof(one), "%s%llu", *seen ? " " : "",
			 (unsigned long long)number());
		strcat(seen, one);
	}
	ck_assert_str_eq(seen, wanted);
}

static const char *text_at(void *arg, uint32_t i)
{
	return ((const char **)arg)[i];
}

START_TEST(numbers_and_texts_are_read_back)
{
	const char *texts[] = { "one", "", "</script>" };
	struct page_data *data;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(page_data_open(&data, file, "x"), 0);
	page_data_number(data, 0);
	page_data_number(data, 300);
	page_data_number(data, UINT64_MAX);
	page_data_signed(data, -1);
	page_data_signed(data, 1);
	page_data_value(data, 2.5);
	page_data_value(data, -3);
	page_data_value(data, 1e300);
	page_data_texts(data, 3, text_at, texts);
	for (uint64_t i = 0; i < 20000; i++)
		page_data_number(data, i & 127);
	ck_assert_int_eq(page_data_close(data), 0);
	fclose(file);
	ck_assert_int_eq(strncmp(text, "<script id=\"x\" type=\"text/plain\">", 33), 0);
	unpack(text);
	expect_numbers("0 300 9007199254740991 1 2 3 0 9007199254740991");
	expect_texts("one||</script>|");
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert_uint_eq(number(), i & 127);
	ck_assert_uint_eq(at, length);
	free(text);
}
END_TEST

/* The colours of causes are from their table. */
START_TEST(scripts_have_the_class_of_each_cause)
{
	const char *const none[] = { NULL };
	char *text = NULL, row[64];
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	page_write_scripts(file, none);
	fclose(file);
	for (unsigned i = 0; i < WAIT_CAUSES; i++) {
		snprintf(row, sizeof(row), "'%s': '%s'", jfr_wait_causes[i],
			 jfr_wait_classes[jfr_wait_class_of[i]]);
		ck_assert_ptr_nonnull(strstr(text, row));
	}
	ck_assert_ptr_nonnull(strstr(text, "'timer': 'idle'"));
	ck_assert_ptr_nonnull(strstr(text, "'gil': 'lock'"));
	free(text);
}
END_TEST

/* Numbers of types and categories of frames are from their enumerations. */
START_TEST(scripts_have_each_frame_type_and_category)
{
	const char *const none[] = { NULL };
	char *text = NULL, row[64];
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	page_write_scripts(file, none);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "const KERNEL = 5, SCRIPT = 7, INLINED = 2, "
					   "JAVA_TYPES = new Set([0, 1, 2, 6]);"));
	ck_assert_ptr_nonnull(strstr(text, "{0: 'Interpreted', "));
	ck_assert_ptr_nonnull(strstr(text, "11: 'Perl', }"));
	for (int i = 0; i < JFR_FRAME_TYPES; i++) {
		snprintf(row, sizeof(row), " %d: '", i);
		ck_assert(!i || strstr(text, row));
	}
	ck_assert_ptr_nonnull(
		strstr(text, "CATEGORIES = ['own', 'library', 'interpreter', 'kernel', ]"));
	free(text);
}
END_TEST

START_TEST(names_do_not_end_an_element)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	page_write_start(file, "</title><script>&\033[31m", NULL);
	page_json_start(file, "x");
	page_json_string(file, "</script><!--\"\\\n");
	page_json_end(file);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "<title>&lt;/title>&lt;script>&amp;?[31m</title>"));
	ck_assert_ptr_nonnull(
		strstr(text, ">\"\\u003c/script>\\u003c!--\\\"\\\\\\u000a\"</script>"));
	ck_assert_ptr_nonnull(strstr(text, "default-src 'none'"));
	free(text);
}
END_TEST

static uint32_t add_frame(struct profile *p, const char *name, const char *module)
{
	struct frame frame = { .name = intern_string(&p->names, name),
			       .module = *module ? intern_string(&p->names, module) : 0,
			       .type = JFR_FRAME_NATIVE };

	return intern(&p->frames, &frame, sizeof(frame));
}

/* Samples of main, main;a and main;b by two threads, the last one 45 ms after the first. */
static void fill_profile(struct profile *p)
{
	uint32_t frames[] = { add_frame(p, "main", "app"), add_frame(p, "a", "app"),
			      add_frame(p, "b", "") };
	uint32_t stacks[][2] = { { frames[0], 0 },
				 { frames[1], frames[0] },
				 { frames[2], frames[0] } };
	struct thread_key one = { .name = intern_string(&p->names, "one"), .tid = 1 };
	struct thread_key two = { .name = intern_string(&p->names, "two"),
				  .tid = 2,
				  .labels = intern_string(&p->names, "host=h\n") };
	uint32_t threads[] = { intern(&p->threads, &one, sizeof(one)),
			       intern(&p->threads, &two, sizeof(two)) };
	uint32_t context = intern_string(&p->names, "trace_id=12\nspan_id=3\nroute=/\n");
	static const struct {
		unsigned stack, thread;
		bool has_context;
		int64_t time_ms;
		double count;
	} rows[] = {
		{ 1, 0, false, 1000, 50 },
		{ 1, 0, false, 1019, 10 },
		{ 0, 1, true, 1020, 2 },
		{ 2, 1, false, 1045, 7 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t *stack = stacks[rows[i].stack];
		struct sample s = {
			.stack = intern(&p->stacks, stack, stack[1] ? 8 : 4),
			.thread = threads[rows[i].thread],
			.context = rows[i].has_context ? context : 0,
			.metric = METRIC_CPU,
			.time_ms = rows[i].time_ms,
			.count = rows[i].count,
		};

		profile_add_sample(p, &s);
	}
}

/* What the page's data is: texts, then the columns of numbers in the order of page_stacks.c. */
static const struct {
	double min_share;
	uint32_t row_ms;
	const char *strings, *frames, *nodes, *samples;
} pages[] = {
	{ 0, 0, "main|app|a|b|", "3 1 3 4 2 2 0 3 3 3 0 0 0", "3 0 0 1 1 2 3",
	  "3 2 2 2 2 1 2 2 1 3 2 60 7 0" },
	{ 0, 20, "main|app|a|b|", "3 1 3 4 2 2 0 3 3 3 0 0 0", "3 0 0 1 1 2 3",
	  "3 0 1 1 4 1 4 1 2 2 1 2 3 60 2 7 0" },
	{ 0.2, 0, "main|app|a|[small frames]|", "3 1 3 4 2 2 0 3 3 3 0 0 1", "3 0 0 1 1 3 2",
	  "3 2 2 2 2 2 1 2 3 1 2 7 60 0" },
};

START_TEST(samples_are_added_up)
{
	struct profile profile = PROFILE_INIT;
	struct page_stacks stacks = { 0 };
	struct page_data *data;
	char *text = NULL, notice[256];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	fill_profile(&profile);
	ck_assert_int_eq(page_stacks_add(&stacks, &profile, &profile, METRIC_CPU, false, false), 0);
	ck_assert_int_eq(
		page_stacks_finish(&stacks, &profile, pages[_i].min_share, pages[_i].row_ms), 0);
	ck_assert_int_eq(page_data_open(&data, file, "x"), 0);
	ck_assert_int_eq(page_stacks_write(data, &stacks, &profile), 0);
	ck_assert_int_eq(page_data_close(data), 0);
	fclose(file);
	unpack(text);
	expect_texts(pages[_i].strings);
	expect_numbers(pages[_i].frames);
	expect_numbers(pages[_i].nodes);
	expect_texts("[one tid=1]|[two tid=2]|");
	expect_texts("|host=h\nroute=/\n|host=h\n|");
	expect_numbers(pages[_i].samples);
	ck_assert_uint_eq(at, length);
	page_stacks_notice(&stacks, pages[_i].row_ms, notice, sizeof(notice));
	ck_assert_int_eq(!!*notice, pages[_i].min_share > 0);
	page_stacks_free(&stacks);
	profile_free(&profile);
	free(text);
}
END_TEST

/* Samples from the year 1 to the year 2262: rows are as long as it takes. */
START_TEST(long_spans_have_long_rows)
{
	struct profile profile = PROFILE_INIT;
	struct page_stacks stacks = { 0 };
	char notice[256];

	fill_profile(&profile);
	profile.samples[0].time_ms = -62135596800000;
	profile.samples[1].time_ms = INT64_MAX / 1000000;
	ck_assert_int_eq(page_stacks_add(&stacks, &profile, &profile, METRIC_CPU, false, false), 0);
	ck_assert_int_eq(page_stacks_finish(&stacks, &profile, 0, 20), 0);
	ck_assert_uint_le(stacks.rows, PAGE_ROWS_MAX);
	ck_assert_uint_gt(stacks.row_ms, 1000);
	page_stacks_notice(&stacks, 20, notice, sizeof(notice));
	ck_assert_ptr_nonnull(strstr(notice, "ms instead of 20 ms"));
	page_stacks_free(&stacks);
	profile_free(&profile);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("page");

	tcase_add_test(tcase, numbers_and_texts_are_read_back);
	tcase_add_test(tcase, scripts_have_the_class_of_each_cause);
	tcase_add_test(tcase, scripts_have_each_frame_type_and_category);
	tcase_add_test(tcase, names_do_not_end_an_element);
	tcase_add_loop_test(tcase, samples_are_added_up, 0, sizeof(pages) / sizeof(pages[0]));
	tcase_add_test(tcase, long_spans_have_long_rows);
	return suite_run(tcase);
}
