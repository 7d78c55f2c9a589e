/* Command lines, and their values. */

#include "decoder/commands/args.h"
#include "decoder/output/message.h"
#include "profile/aggregate/frame_category.h"
#include "profile/aggregate/wait.h"
#include "test/fixtures/suite.h"

START_TEST(durations)
{
	static const struct {
		const char *text;
		uint64_t ns;
		int err;
	} cases[] = {
		{ "500us", 500000, 0 },
		{ "10ms", 10000000, 0 },
		{ "1.5s", 1500000000, 0 },
		{ "1m30s", 90000000000, 0 },
		{ "1m 30s", 90000000000, 0 },
		{ "2h", 7200000000000, 0 },
		{ "", 0, -1 },
		{ "10", 0, -1 },
		{ "10 parsecs", 0, -1 },
		{ "-1s", 0, -1 },
		{ "1e99h", 0, -1 },
		{ "ms", 0, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 0;

		ck_assert_msg(!args_duration(cases[i].text, &ns) == !cases[i].err, "%s",
			      cases[i].text);
		if (!cases[i].err)
			ck_assert_uint_eq(ns, cases[i].ns);
	}
}
END_TEST

START_TEST(moments)
{
	static const struct {
		const char *text;
		int kind;
		int64_t ns;
	} cases[] = {
		{ "02:10:00", MOMENT_DAY, 7800000000000 },
		{ "02:10", MOMENT_DAY, 7800000000000 },
		{ "00:00:01.5Z", MOMENT_DAY, 1500000000 },
		{ "30s", MOMENT_OFFSET, 30000000000 },
		{ "-30s", MOMENT_OFFSET, -30000000000 },
		{ "1500", MOMENT_OFFSET, 1500000000 },
		{ "1970-01-02T00:00:01Z", MOMENT_ABSOLUTE, 86401000000000 },
		{ "1600000000000", MOMENT_ABSOLUTE, 1600000000000000000 },
		{ "25:99", MOMENT_NONE, 0 },
		{ "soon", MOMENT_NONE, 0 },
		{ "", MOMENT_NONE, 0 },
		{ "99999999999999999999", MOMENT_NONE, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct moment moment = { 0 };
		int err = args_moment(cases[i].text, &moment);

		ck_assert_msg(!err == (cases[i].kind != MOMENT_NONE), "%s", cases[i].text);
		if (err)
			continue;
		ck_assert_int_eq(moment.kind, cases[i].kind);
		ck_assert_int_eq(moment.ns, cases[i].ns);
	}
}
END_TEST

static int parse(struct args *args, int argc, const char *const *argv)
{
	*args = (struct args)ARGS_INIT("test");
	return args_parse(args, argc, (char **)argv, top_options);
}

#define PARSE(args, ...)                                                              \
	parse(args, sizeof((const char *[]){ "test", __VA_ARGS__ }) / sizeof(char *), \
	      (const char *[]){ "test", __VA_ARGS__ })

START_TEST(command_lines)
{
	struct args args;

	ck_assert_int_eq(PARSE(&args, "--wall", "-n5", "a.jfr", "--thread=work.*", "b.jfr"),
			 COMMAND_OK);
	ck_assert_int_eq(args.metric, METRIC_WALL);
	ck_assert_uint_eq(args.limit, 5);
	ck_assert_int_eq(args.file_count, 2);
	ck_assert(args.query.thread.set);
	args_free(&args);

	ck_assert_int_eq(PARSE(&args, "--leak", "--tail", "20%", "-", "--", "--odd"), COMMAND_OK);
	ck_assert_int_eq(args.metric, METRIC_LIVE);
	ck_assert(args.query.leak);
	ck_assert(args.query.tail > 0.19 && args.query.tail < 0.21);
	ck_assert_str_eq(args.files[1], "--odd");
	args_free(&args);
}
END_TEST

/* Expressions that look like nested repetitions, and are not. */
START_TEST(expressions)
{
	static const char *const right[][2] = {
		{ "c\\++", "c+" },           { "[+*?]+x", "*x" },  { "[]+]*[^]*]?z", "]+z" },
		{ "[[:alpha:]+]+", "a+" },   { "[[.*.]+]*", "*" }, { "(ab)*c+(d{2,3})?", "abcdd" },
		{ "a{1,200}b{0,20}", "ab" },
	};
	struct args args;

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		ck_assert_int_eq(PARSE(&args, "--include", right[i][0], "a.jfr"), COMMAND_OK);
		ck_assert_msg(!regexec(&args.query.include.regex, right[i][1], 0, NULL, 0), "%s",
			      right[i][0]);
		args_free(&args);
	}
}
END_TEST

START_TEST(wrong_usage)
{
	static const char *const wrong[][3] = {
		{ "--frobnicate", "a.jfr" },
		{ "-n", "many" },
		{ "-n" },
		{ "--thread", "(" },
		{ "--cpu=yes", "a" },
		{ "--tail", "200%" },
		{ "--from", "soon" },
		{ "--json" },
		{ "--include", "(a{255}){255}" },
		{ "--include", "^w??++++.?" },
		{ "--include", "a{2}{3}" },
		{ "--include", "(((((((a+)+)+)+)+)+)+)+" },
		{ "--include", "[" },
		{ "--include", "[[:alpha:" },
		{ "--include", "a{" },
		{ "--include", "a\\" },
		{ "--rename-threads", "oops" },
	};
	struct args args;

	message_disabled = true;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int argc = wrong[i][1] ? 3 : 2;
		const char *argv[] = { "test", wrong[i][0], wrong[i][1] };

		ck_assert_msg(parse(&args, argc, argv) == COMMAND_USAGE, "%s", wrong[i][0]);
		args_free(&args);
	}
	ck_assert_int_eq(PARSE(&args, "a.jfr", "--help"), COMMAND_HELP);
	args_free(&args);
}
END_TEST

START_TEST(names)
{
	static const struct {
		int kind;
		const char *text;
		uint32_t mask;
		int err;
	} cases[] = {
		{ ARG_STATES, "running", 1u << WAIT_RUNNING, 0 },
		{ ARG_STATES, "waiting,runnable", 1u << WAIT_WAITING | 1u << WAIT_RUNNABLE, 0 },
		{ ARG_STATES, "unknown", 0, -EINVAL },
		{ ARG_STATES, "running,", 0, -EINVAL },
		{ ARG_STATES, "", 0, -EINVAL },
		{ ARG_CAUSES, "lock,gil", 1u << WAIT_LOCK | 1u << WAIT_GIL, 0 },
		{ ARG_CAUSES, "unknown", 1u << WAIT_NO_CAUSE, 0 },
		{ ARG_CAUSES, "socket", 0, -EINVAL },
		{ ARG_CAUSES, "lock lock", 0, -EINVAL },
		{ ARG_FOLD, "own,kernel", 1u << FRAME_OWN | 1u << FRAME_KERNEL, 0 },
	};
	struct buf text = BUF_INIT(1024);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t mask = 0;

		ck_assert_int_eq(args_name_list(cases[i].kind, cases[i].text, &mask), cases[i].err);
		if (!cases[i].err)
			ck_assert_uint_eq(mask, cases[i].mask);
	}
	ck_assert_str_eq(args_name_list_text(ARG_STATES, &text),
			 "running, runnable, waiting, or several with commas between them");
	buf_free(&text);
}
END_TEST

START_TEST(waits_are_of_wall_clock_samples)
{
	struct args args;

	message_disabled = true;
	ck_assert_int_eq(PARSE(&args, "--cause", "lock", "a.jfr"), COMMAND_OK);
	ck_assert_int_eq(args.metric, METRIC_WALL);
	args_free(&args);
	ck_assert_int_eq(PARSE(&args, "--cpu", "--state", "running", "a.jfr"), COMMAND_USAGE);
	args_free(&args);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("values");

	tcase_add_test(tcase, durations);
	tcase_add_test(tcase, moments);
	tcase_add_test(tcase, command_lines);
	tcase_add_test(tcase, expressions);
	tcase_add_test(tcase, wrong_usage);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, waits_are_of_wall_clock_samples);
	return suite_run(tcase);
}
