/* Records of a journal are read back as far as they are whole, wherever it was cut or spoiled. */
#include <string.h>

#include "engine/jfr/journal.h"
#include "test/fixtures/suite.h"

#define RECORDS 5

static void fill(struct buf *out)
{
	static const char text[] = "what only memory has";

	for (uint8_t i = 0; i < RECORDS; i++)
		ck_assert_int_eq(journal_put(out, JOURNAL_THREAD, i, text, i * 4u), 0);
}

/* How many are read of LENGTH bytes at DATA; each as it was written. */
static unsigned count(const uint8_t *data, size_t length)
{
	struct journal_record record;
	unsigned n = 0;
	size_t at = 0;

	for (; journal_next(data, length, &at, &record); n++) {
		ck_assert_int_eq(record.kind, JOURNAL_THREAD);
		ck_assert_uint_eq(record.writer, n);
		ck_assert_uint_eq(record.length, n * 4);
		ck_assert(!memcmp(record.data, "what only memory has", record.length));
		ck_assert(at <= length);
	}
	return n;
}

START_TEST(records_come_back)
{
	struct buf out = BUF_INIT(4096);

	fill(&out);
	ck_assert_uint_eq(count(out.data, out.length), RECORDS);
	buf_free(&out);
}
END_TEST

START_TEST(what_is_cut_off_is_not_read)
{
	struct buf out = BUF_INIT(4096);
	unsigned last = 0, n;

	fill(&out);
	for (size_t length = 0; length <= out.length; length++) {
		uint8_t *cut = malloc(length ? length : 1);

		memcpy(cut, out.data, length);
		n = count(cut, length);
		ck_assert(n == last || n == last + 1);
		ck_assert(n < RECORDS || length == out.length);
		last = n;
		free(cut);
	}
	buf_free(&out);
}
END_TEST

START_TEST(what_is_spoiled_ends_it)
{
	struct buf out = BUF_INIT(4096);

	fill(&out);
	for (size_t at = 0; at < out.length; at++) {
		out.data[at] ^= 0x40;
		ck_assert_uint_lt(count(out.data, out.length), RECORDS);
		out.data[at] ^= 0x40;
	}
	buf_free(&out);
}
END_TEST

START_TEST(one_that_fails_leaves_those_before)
{
	struct buf out = BUF_INIT(64);
	size_t length;

	ck_assert_int_eq(journal_put(&out, JOURNAL_THREAD, 0, "", 0), 0);
	length = out.length;
	ck_assert_int_lt(
		journal_put(&out, JOURNAL_THREAD, 1,
			    "0123456789012345678901234567890123456789012345678901234567890", 60),
		0);
	ck_assert_uint_eq(out.length, length);
	ck_assert_uint_eq(count(out.data, out.length), 1);
	buf_free(&out);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("journal");

	tcase_add_test(cases, records_come_back);
	tcase_add_test(cases, what_is_cut_off_is_not_read);
	tcase_add_test(cases, what_is_spoiled_ends_it);
	tcase_add_test(cases, one_that_fails_leaves_those_before);
	return suite_run(cases);
}
