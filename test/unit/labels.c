/* The labels of a recording: its process by its name, and the tags of its metadata, or its own. */
#include "profile/jfr/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/collect/label_chunk.h"
#include "test/fixtures/suite.h"

#define TIME "_2026-11-21T02-10-00Z"

static const struct {
	const char *file, *labels, *expected;
} names[] = {
	{ "work_12" TIME ".jfr", NULL, "process=work_12\n" },
	{ "/a_1_2/b/work_12" TIME "-1.jfr", NULL, "process=work_12\n" },
	{ "my_work_12" TIME ".jfr", "a=b\n", "process=my_work_12\na=b\n" },
	{ "x/profile_g_unknown___12" TIME ".zip(async_profiler_dump_0.jfr)", NULL,
	  "process=profile_g_unknown___12\n" },
	{ "work_12" TIME ".zip(a (1).jfr)", NULL, "process=work_12\n" },
	{ "old (1)/work_12" TIME ".jfr", NULL, "process=work_12\n" },
	{ "old (1)/work_12" TIME ".zip(a.jfr)", NULL, "process=work_12\n" },
	{ "work.jfr", NULL, "" },
	{ "work_x" TIME ".jfr", NULL, "" },
	{ "work_12_later.jfr", "a=b\n", "a=b\n" },
	{ "a)", NULL, "" },
	{ "work_12" TIME "\n.jfr", "a=\x01\n", "process=work_12\na=?\n" },
};

START_TEST(of_names)
{
	struct buf out = BUF_INIT(4096);

	labels_write(&out, names[_i].file, names[_i].labels);
	ck_assert_str_eq(buf_string(&out), names[_i].expected);
	buf_free(&out);
}
END_TEST

static const struct {
	const char *json, *expected;
} metadata[] = {
	{ "{\"agent\":{\"tags\":{\"a\":\"b\",\"c d\":\"e=f\"}}}", "a=b\nc d=e=f\n" },
	{ "{\"agent\":{\"tags\":{\"a\":\"b\\nprocess=x\",\"n\":1,\"o\":{}}}}", "a=b?process=x\n" },
	{ "{\"agent\":{\"tags\":{}}}", NULL },
	{ "{\"agent\":{\"service_version\":\"7.1\",\"tags\":{\"a\":\"b\"},\"version\":\"0.1\"}}",
	  "a=b\nversion=7.1\n" },
	{ "{\"agent\":{\"service_version\":\"7\",\"tags\":{\"version\":\"8\"}}}", "version=8\n" },
	{ "{\"agent\":{\"profiled_since\":1764448201123}}", "profiled_since=1764448201123\n" },
	{ "{\"agent\":{\"profiled_since\":0}}", NULL },
	{ "{\"agent\":{\"profiled_since\":1e300}}", NULL },
	{ "{\"tags\":{\"a\":\"b\"}}", NULL },
	{ "{\"agent\":[1]}", NULL },
	{ "not JSON", NULL },
	{ "", NULL },
};

START_TEST(of_metadata)
{
	char *labels = labels_from_metadata(metadata[_i].json);

	if (metadata[_i].expected)
		ck_assert_pstr_eq(labels, metadata[_i].expected);
	else
		ck_assert_ptr_null(labels);
	free(labels);
}
END_TEST

/* The header of an engine's chunk: its start time is at 32. */
static const uint8_t front[68] = "FLR\0\2\0\0\0";

static uint64_t profiled_since_ms;

static size_t chunk_of(uint8_t *out, size_t max, const char *executable, const char *tags,
		       const char *version)
{
	int engine_fd = memfd_create("engine", MFD_CLOEXEC),
	    fd = memfd_create("labels", MFD_CLOEXEC);
	struct report report = { .parts = { { .fd = engine_fd, .offset = 3 } },
				 .part_count = 1,
				 .executable = executable,
				 .profiled_since_ms = profiled_since_ms,
				 .host = "here",
				 .tags = tags,
				 .version = version };
	off_t length;

	ck_assert_int_eq(fd_write(engine_fd, front, sizeof(front), 3), 0);
	ck_assert_int_eq(label_chunk_write(fd, &report), 0);
	length = lseek(fd, 0, SEEK_END);
	ck_assert_int_gt(length, 0);
	ck_assert_uint_le((size_t)length, max);
	ck_assert_int_eq(fd_read(fd, out, (size_t)length, 0), 0);
	close(engine_fd);
	close(fd);
	return (size_t)length;
}

static const struct {
	const char *executable, *tags, *version, *expected; /* after the host's */
} recordings[] = {
	{ "work", "a=b", NULL, "executable=work\na=b\n" },
	{ "work", NULL, NULL, "executable=work\n" },
	{ "work", "", NULL, "executable=work\n" },
	{ "", "a=b", NULL, "a=b\n" },
	{ "w", "a=b=c,d=,\xc3\xb6=\xe2\x82\xac", NULL,
	  "executable=w\na=b=c\nd=\n\xc3\xb6=\xe2\x82\xac\n" },
	{ "w", "a=x\nprocess=y", NULL, "executable=w\na=x?process=y\n" },
	{ "w", "host=other", NULL, "executable=w\nhost=other\n" },
	{ "w", "a=b", "7.1", "executable=w\na=b\nversion=7.1\n" },
	{ "w", NULL, "7 8\n9", "executable=w\nversion=7 8?9\n" },
	{ "w", "version=8,a=b", "7", "executable=w\nversion=8\na=b\n" },
};

START_TEST(of_processes_with_one_pid)
{
	uint8_t data[32768];
	size_t length;
	char *labels;

	profiled_since_ms = 1764448201123;
	length = chunk_of(data, sizeof(data), "work", NULL, NULL);
	profiled_since_ms = 0;
	labels = labels_from_recording(data, length);
	ck_assert_str_eq(labels, "host=here\nexecutable=work\nprofiled_since=1764448201123\n");
	free(labels);
}
END_TEST

START_TEST(of_recordings)
{
	uint8_t data[32768];
	size_t length = chunk_of(data, sizeof(data), recordings[_i].executable, recordings[_i].tags,
				 recordings[_i].version);
	char *labels = labels_from_recording(data, length);

	ck_assert_ptr_nonnull(labels);
	ck_assert(!strncmp(labels, "host=here\n", 10));
	ck_assert_str_eq(strchr(labels, '\n') + 1, recordings[_i].expected);
	free(labels);
	for (size_t cut = 0; cut < length; cut += 97) {
		labels = labels_from_recording(data, cut);
		ck_assert_ptr_null(labels);
	}
}
END_TEST

START_TEST(the_longest_tag_is_whole)
{
	static char tag[4097], expected[4099];
	uint8_t data[32768];
	size_t length;
	char *labels;

	for (size_t key = 1; key < 4096; key += 4093) {
		memset(tag, 'x', 4096);
		tag[key] = '=';
		length = chunk_of(data, sizeof(data), "", tag, NULL);
		labels = labels_from_recording(data, length);
		ck_assert_ptr_nonnull(labels);
		snprintf(expected, sizeof(expected), "%s\n", tag);
		ck_assert_str_eq(strchr(labels, '\n') + 1, expected);
		free(labels);
	}
}
END_TEST

/* Concatenated recordings: equal labels are listed once. */
START_TEST(of_two_recordings)
{
	uint8_t data[65536];
	size_t length = chunk_of(data, sizeof(data), "work", "a=b,c=d", NULL);
	char *labels;

	length += chunk_of(data + length, sizeof(data) - length, "work", "a=bb,c=d", NULL);
	labels = labels_from_recording(data, length);
	ck_assert_ptr_nonnull(labels);
	ck_assert_str_eq(strchr(labels, '\n') + 1, "executable=work\na=b\nc=d\na=bb\n");
	free(labels);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("labels");

	tcase_add_loop_test(tcase, of_names, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_loop_test(tcase, of_metadata, 0, sizeof(metadata) / sizeof(metadata[0]));
	tcase_add_test(tcase, of_processes_with_one_pid);
	tcase_add_loop_test(tcase, of_recordings, 0, sizeof(recordings) / sizeof(recordings[0]));
	tcase_add_test(tcase, the_longest_tag_is_whole);
	tcase_add_test(tcase, of_two_recordings);
	return suite_run(tcase);
}
