/* What a recording is labelled with: its process by its name, and the tags of its metadata. */
#include "decoder/labels.h"

#include <stdlib.h>

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

	labels_of(&out, names[_i].file, names[_i].labels);
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

int main(void)
{
	TCase *tcase = tcase_create("labels");

	tcase_add_loop_test(tcase, of_names, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_loop_test(tcase, of_metadata, 0, sizeof(metadata) / sizeof(metadata[0]));
	return suite_run(tcase);
}
