/* engine/sample/thread_call: what /proc says about a thread's system call, and the note of it. */
#include "engine/sample/thread_call.h"

#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const char *text;
	bool is_call;
	long number;
	uintptr_t first, last, sp, pc;
} texts[] = {
	{ "running\n", false, 0, 0, 0, 0, 0 },
	{ "", false, 0, 0, 0, 0, 0 },
	{ "-1 0x7ffc10 0x401000\n", false, 0, 0, 0, 0, 0 },
	{ "232 0x3 0x7ffc00 0x1 0x5dc 0x0 0xa1 0x7ffc10 0x401000\n", true, 232, 3, 0xa1, 0x7ffc10,
	  0x401000 },
	{ "7 0x0 0x0 0xffffffffffffffff 0x0 0x0 0xffffffffffffffff 0x7ffc10 0x401000", true, 7, 0,
	  UINTPTR_MAX, 0x7ffc10, 0x401000 },
	{ "7 0x0 0x0 0x1ffffffffffffffff 0x0 0x0 0x0 0x7ffc10 0x401000\n", false, 0, 0, 0, 0, 0 },
	{ "7 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc10\n", false, 0, 0, 0, 0, 0 },
	{ "7 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x0\n", false, 0, 0, 0, 0, 0 },
	{ "99999999999 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x401000\n", false, 0, 0, 0, 0, 0 },
	{ "7a 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x401000\n", false, 0, 0, 0, 0, 0 },
	{ "7 0x0 g 0x0 0x0 0x0 0x0 0x7ffc10 0x401000\n", false, 0, 0, 0, 0, 0 },
};

START_TEST(test_thread_call_parse)
{
	struct thread_call call = { 0 };

	ck_assert_int_eq(thread_call_parse(&call, texts[_i].text), texts[_i].is_call);
	if (!texts[_i].is_call)
		return;
	ck_assert_int_eq(call.number, texts[_i].number);
	ck_assert_uint_eq(call.arguments[0], texts[_i].first);
	ck_assert_uint_eq(call.arguments[THREAD_CALL_ARGUMENTS - 1], texts[_i].last);
	ck_assert_uint_eq(call.sp, texts[_i].sp);
	ck_assert_uint_eq(call.pc, texts[_i].pc);
}
END_TEST

START_TEST(test_thread_call_note)
{
	struct thread_call_note note = { 0 };
	struct thread_call call = { .number = 7, .sp = 1, .pc = 2 }, copy;

	ck_assert(thread_call_read(&note, &copy));
	ck_assert_uint_eq(copy.pc, 0);
	thread_call_write(&note, &call);
	ck_assert(thread_call_read(&note, &copy));
	ck_assert(!memcmp(&call, &copy, sizeof(call)));
	atomic_fetch_add(&note.version, 1); /* the writer is in the middle of it */
	ck_assert(!thread_call_read(&note, &copy));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, test_thread_call_parse, 0, sizeof(texts) / sizeof(*texts));
	tcase_add_test(tests, test_thread_call_note);
	return suite_run(tests);
}
