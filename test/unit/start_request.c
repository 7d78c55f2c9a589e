/* engine/collect/start_request.c: what a start string asks for is understood, or refused by name. */
#include "engine/collect/start_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static char told[256];

static void output(const char *text, size_t size)
{
	snprintf(told, sizeof(told), "%.*s", (int)size, text);
}

static struct engine_start request;
static char problem[START_PROBLEM_MAX];

static int process_context_read(const char *options)
{
	told[0] = problem[0] = '\0';
	return start_request_read(&request, options, output, problem);
}

START_TEST(reads_the_agents_own)
{
	ck_assert_int_eq(
		process_context_read(",event=cpu,interval=100000000,wall=1000ms,jfr,cstack=vm,"
				     "file=/proc/self/fd/9,nativemem=10m"),
		0);
	ck_assert(request.cpu);
	ck_assert_uint_eq(request.interval_ns, 100000000);
	ck_assert_uint_eq(request.wall_ns, 1000000000);
	ck_assert_uint_eq(request.mem_bytes, 10 << 20);
	ck_assert_str_eq(request.cstack, "vm");
	ck_assert_str_eq(request.file, "/proc/self/fd/9");
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(wall_alone_has_the_interval)
{
	ck_assert_int_eq(process_context_read("event=wall,interval=20ms,file=x"), 0);
	ck_assert(!request.cpu);
	ck_assert_uint_eq(request.interval_ns, ENGINE_OFF);
	ck_assert_uint_eq(request.wall_ns, 20000000);
	ck_assert_uint_eq(request.mem_bytes, ENGINE_OFF);
	ck_assert_str_eq(request.cstack, "dwarf");
}
END_TEST

START_TEST(strange_ones_are_told_and_ignored)
{
	ck_assert_int_eq(process_context_read("file=x,alluser,lock=1"), 0);
	ck_assert_str_eq(told, "the builtin engine has no option lock; it is ignored\n");
}
END_TEST

static const struct {
	const char *option;
	uint64_t value; /* ENGINE_OFF: refused */
} quantities[] = {
	{ "interval=10000", 10000 },
	{ "interval=10000ns", 10000 },
	{ "interval=10us", 10000 },
	{ "interval=9999", ENGINE_OFF },
	{ "interval=9us", ENGINE_OFF },
	{ "interval=1", ENGINE_OFF },
	{ "interval=18446744073s", 18446744073000000000u },
	{ "interval=18446744074s", ENGINE_OFF }, /* more than 64 bits of nanoseconds */
	{ "interval=18446744073709551615", ENGINE_OFF },
	{ "interval=0", ENGINE_OFF },
	{ "interval=-5", ENGINE_OFF },
	{ "interval=+5", ENGINE_OFF },
	{ "interval= 5", ENGINE_OFF },
	{ "interval=5m", ENGINE_OFF },
	{ "interval=5mss", ENGINE_OFF },
	{ "interval=", ENGINE_OFF },
	{ "interval", ENGINE_OFF },
	{ "nativemem=0", 0 },
	{ "nativemem=3k", 3072 },
	{ "nativemem=17179869183g", 17179869183u * (1ull << 30) },
	{ "nativemem=17179869184g", ENGINE_OFF },
	{ "nativemem=99999999999g", ENGINE_OFF },
	{ "nativemem=-1k", ENGINE_OFF },
	{ "nativemem=1kb", ENGINE_OFF },
	{ "nativemem=", ENGINE_OFF },
};

START_TEST(quantities_are_bounded)
{
	bool mem = quantities[_i].option[0] == 'n', good = quantities[_i].value != ENGINE_OFF;
	char options[64];

	snprintf(options, sizeof(options), "file=x,%s", quantities[_i].option);
	ck_assert_int_eq(process_context_read(options), good ? 0 : -EINVAL);
	if (good)
		ck_assert_uint_eq(mem ? request.mem_bytes : request.interval_ns,
				  quantities[_i].value);
	else
		ck_assert_str_eq(problem,
				 mem ? "the builtin engine cannot take the value of nativemem"
				     : "the builtin engine cannot take the value of interval");
}
END_TEST

static const char *const wrong[] = { "",
				     "event=cpu",
				     "file=",
				     "file=x,event=alloc",
				     "file=x,jfr=1",
				     "file=x,cstack=0123456789abcdef" };

START_TEST(refuses_what_it_cannot_do)
{
	ck_assert_int_eq(process_context_read(wrong[_i]), -EINVAL);
	ck_assert_str_ne(problem, "");
}
END_TEST

START_TEST(refuses_a_path_that_is_too_long)
{
	char options[START_FILE_MAX + 16] = "file=";

	memset(options + 5, 'x', START_FILE_MAX - 1);
	ck_assert_int_eq(process_context_read(options), 0);
	options[5 + START_FILE_MAX - 1] = 'x';
	ck_assert_int_eq(process_context_read(options), -EINVAL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("start_request");

	tcase_add_test(tcase, reads_the_agents_own);
	tcase_add_test(tcase, wall_alone_has_the_interval);
	tcase_add_test(tcase, strange_ones_are_told_and_ignored);
	tcase_add_loop_test(tcase, quantities_are_bounded, 0,
			    sizeof(quantities) / sizeof(quantities[0]));
	tcase_add_loop_test(tcase, refuses_what_it_cannot_do, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tcase, refuses_a_path_that_is_too_long);
	return suite_run(tcase);
}
