/* decoder/bucket/objects.c and object_name.c: selection of reports by their names alone. */
#include "decoder/bucket/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/date.h"
#include "decoder/bucket/object_name.h"
#include "test/fixtures/suite.h"

#define TIME "2026-11-21T02-10-00Z"

static const struct {
	const char *key, *group, *machine;
} names[] = {
	{ "profile_svc_ec2_i-0123__77_" TIME "-0badcafe.zip", "svc", "i-0123" },
	{ "a/b/profile_svc_ec2_i-0123__77_" TIME "-0badcafe.zip", "svc", "i-0123" },
	{ "profile_svc_ecs_arn:aws:ecs:eu-west-1:1:task-c-9f__1_" TIME "-0badcafe.zip", "svc",
	  "arn:aws:ecs:eu-west-1:1:task-c-9f" },
	{ "profile_svc_unknown___77_" TIME "-0badcafe.zip", "svc", "" },
	{ "sub_profile_svc_ec2_i-1__7_" TIME "-00000000.zip", "svc", "i-1" },
	{ "profile_x/profile_svc_ec2_i-1__7_" TIME "-00000000.zip", "svc", "i-1" },
	{ "a/profile_s/v_ec2_i-1__7_" TIME "-00000000.zip", "s/v", "i-1" },
	{ "profile_my_profile_ec2_i-1__7_" TIME "-00000000.zip", "my_profile", "i-1" },
	{ "profile_a_b ec2_c_ec2_i-1__7_" TIME "-00000000.zip", "a_b ec2_c", "i-1" },
	{ "profile__ec2_i-1__7_" TIME "-00000000.zip", "", "i-1" },
	/* In the form of other agents, without the unique part. */
	{ "profile_svc_ec2_i-0123__77_" TIME ".zip", "svc", "i-0123" },
	{ "profile_svc_other_i-0123__77_" TIME "-0badcafe.zip", NULL, NULL },
	{ "profile_svc_ec2_i-0123_77_" TIME "-0badcafe.zip", NULL, NULL },
	{ "profile_ec2_i-0123__77_" TIME "-0badcafe.zip", NULL, NULL },
	{ "profile_svc_ec2_i-0123___" TIME "-0badcafe.zip", NULL, NULL },
	{ "profile_svc_ec2_i-0123__77_2026-13-21T02-10-00Z-0badcafe.zip", NULL, NULL },
	{ "profile_svc_ec2_i-0123__77_9999-12-21T02-10-00Z-0badcafe.zip", NULL, NULL },
	{ "profile_svc_ec2_i-0123__77_1969-12-21T02-10-00Z-0badcafe.zip", NULL, NULL },
	{ "profile_svc_ec2_i-0123__77_" TIME "-0badcafe.jfr", NULL, NULL },
	{ "service_77_" TIME ".jfr", NULL, NULL },
	{ "profile_.zip", NULL, NULL },
	{ ".zip", NULL, NULL },
	{ "", NULL, NULL },
};

START_TEST(names_are_taken_apart)
{
	struct object_name name;

	ck_assert_int_eq(object_name_parse(&name, names[_i].key), names[_i].group != NULL);
	if (!names[_i].group)
		return;
	ck_assert_uint_eq(name.group_length, strlen(names[_i].group));
	ck_assert_mem_eq(name.group, names[_i].group, name.group_length);
	ck_assert_uint_eq(name.machine_length, strlen(names[_i].machine));
	ck_assert_mem_eq(name.machine, names[_i].machine, name.machine_length);
	ck_assert_int_eq(name.seconds, date_seconds((unsigned int[]){ 2026, 11, 21, 2, 10, 0 }));
}
END_TEST

/* --- selection -------------------------------------------------------------------------------- */

#define BASE INT64_C(1795219200) /* 2026-11-21T00:00:00Z */

static struct objects objects;

static void add_key(const char *key)
{
	struct listing_entry listed = { .key = key, .etag = "\"1\"", .bytes = 1 };

	ck_assert_int_eq(objects_add(&objects, &listed), 0);
}

/* A report of GROUP's process on MACHINE that ends SECONDS after midnight. */
static void add(const char *group, const char *machine, long seconds)
{
	char key[256];

	snprintf(key, sizeof(key),
		 "p/profile_%s_ec2_%s__7_2026-11-%02ldT%02ld-%02ld-%02ldZ-0badcafe.zip", group,
		 machine, 21 + seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60,
		 seconds % 60);
	add_key(key);
}

static void set(struct pattern *pattern, const char *regex)
{
	pattern->set = true;
	ck_assert_int_eq(regcomp(&pattern->regex, regex, REG_EXTENDED | REG_NOSUB), 0);
}

/* From midnight on, every half minute. */
static void add_hour(const char *group, const char *machine)
{
	for (long s = 30; s <= 3600; s += 30)
		add(group, machine, s);
}

static int pick(const struct upload_filter *pick)
{
	int err = objects_filter(&objects, pick);

	/* Always by time. */
	for (uint32_t i = 1; i < objects.count; i++)
		ck_assert_int_le(strcmp(strstr(objects.list[i - 1].key, "2026"),
					strstr(objects.list[i].key, "2026")),
				 0);
	return err;
}

static bool has(const char *part)
{
	for (uint32_t i = 0; i < objects.count; i++)
		if (strstr(objects.list[i].key, part))
			return true;
	return false;
}

static void clear(void)
{
	objects_free(&objects);
}

START_TEST(what_is_no_recording)
{
	add_key("a.zip");
	add_key("b/c.jfr");
	add_key("c.jfr.gz");
	add_key("d.txt");
	add_key("folder/");
	add_key("e/.hidden.zip");
	add_key(".zip");
	ck_assert_uint_eq(objects.count, 3);
}
END_TEST

START_TEST(by_group_and_machine)
{
	struct upload_filter wanted = { 0 };

	set(&wanted.group, "^(a|b)$");
	set(&wanted.machine, "i-1$");
	add("a", "i-1", 1);
	add("b", "i-1", 2);
	add("ab", "i-1", 3);
	add("a", "i-2", 4);
	add_key("other.zip"); /* has no time */
	ck_assert_int_eq(pick(&wanted), 0);
	ck_assert_uint_eq(objects.count, 2);
	ck_assert(has("_a_ec2_i-1_") && has("_b_ec2_i-1_"));
	regfree(&wanted.group.regex);
	regfree(&wanted.machine.regex);
}
END_TEST

START_TEST(what_tells_no_time_stays)
{
	struct upload_filter wanted = { .from = { MOMENT_ABSOLUTE, (BASE + 3600) * 1000000000 } };

	add_key("2026.zip");
	add("a", "i-1", 60);
	ck_assert_int_eq(pick(&wanted), 0);
	ck_assert_uint_eq(objects.count, 1);
	ck_assert_str_eq(objects.list[0].key, "2026.zip");
}
END_TEST

#define AT(s)                                                       \
	{                                                           \
		MOMENT_ABSOLUTE, (BASE + (s)) * INT64_C(1000000000) \
	}
#define OF_DAY(s)                                   \
	{                                           \
		MOMENT_DAY, (s)*INT64_C(1000000000) \
	}
#define OFFSET(s)                                      \
	{                                              \
		MOMENT_OFFSET, (s)*INT64_C(1000000000) \
	}

/* Of an hour of reports of half a minute: the selected ends, the first and the last. */
static const struct {
	struct moment from, to;
	long first, last;
} times[] = {
	{ { 0 }, { 0 }, 30, 3600 },
	/* A report that ends in that second, or just before: its samples may be from then. */
	{ AT(1800), { 0 }, 1800, 3600 },
	{ AT(1803), { 0 }, 1830, 3600 },
	/* Ten minutes more than the reports that begin before the end. */
	{ { 0 }, AT(1800), 30, 2430 },
	{ AT(1800), AT(1800), 1800, 2430 },
	{ OFFSET(-600), { 0 }, 3000, 3600 },
	{ { 0 }, OFFSET(-1800), 30, 2430 },
	/* If they cover less than a day, the recordings' own start decides. */
	{ OF_DAY(1800), OF_DAY(1860), 30, 3600 },
	{ OFFSET(1800), { 0 }, 30, 3600 },
	{ { 0 }, OFFSET(1800), 30, 3600 },
	{ AT(86400), { 0 }, 0, 0 },
};

START_TEST(by_time)
{
	struct upload_filter wanted = { .from = times[_i].from, .to = times[_i].to };
	char first[64], last[64];
	int count = times[_i].last ? (int)(times[_i].last - times[_i].first) / 30 + 1 : 0;

	add_hour("a", "i-1");
	ck_assert_int_eq(pick(&wanted), 0);
	ck_assert_int_eq(objects.count, count);
	if (!count)
		return;
	snprintf(first, sizeof(first), "T%02ld-%02ld-%02ldZ", times[_i].first / 3600,
		 times[_i].first / 60 % 60, times[_i].first % 60);
	snprintf(last, sizeof(last), "T%02ld-%02ld-%02ldZ", times[_i].last / 3600,
		 times[_i].last / 60 % 60, times[_i].last % 60);
	ck_assert(has(first) && has(last));
}
END_TEST

/* Two containers of one machine, each with a process 7 of that group: a report of one does not
 * begin at the end of one of the other. Their reports are of half an hour, five minutes apart. */
START_TEST(processes_of_one_name)
{
	struct upload_filter wanted = { .to = AT(3600 + 60) };

	for (long s = 0; s <= 36000; s += 1800) {
		add("a", "i-1", s);
		add("a", "i-1", s + 300);
	}
	ck_assert_int_eq(pick(&wanted), 0);
	/* From 3600 to 5400, and from 3900 to 5700: the second begins later, and may be omitted. */
	ck_assert(has("T01-30-00Z"));
	ck_assert(!has("T09-30-00Z"));
}
END_TEST

START_TEST(times_of_the_last_day)
{
	struct upload_filter wanted = { .from = OF_DAY(36000), .to = OF_DAY(36060) };
	struct upload_filter over_midnight = { .from = OF_DAY(86340), .to = OF_DAY(60) };

	for (long day = 0; day < 3; day++)
		for (long s = 30; s < 86400; s += 30)
			add("a", "i-1", day * 86400 + s);
	ck_assert_int_eq(pick(&wanted), 0);
	ck_assert(has("23T10-00-00Z") && has("23T10-01-00Z"));
	ck_assert(!has("22T10-00-00Z") && !has("23T09-59-00Z") && !has("23T10-20-00Z"));
	clear();

	for (long s = 30; s < 3 * 86400 - 3600; s += 30)
		add("a", "i-1", s);
	ck_assert_int_eq(pick(&over_midnight), 0);
	ck_assert(has("22T23-59-00Z") && has("23T00-01-00Z"));
	ck_assert(!has("22T23-50-00Z") && !has("23T00-20-00Z") && !has("21T23-59-00Z"));
}
END_TEST

START_TEST(an_end_of_several_days)
{
	struct upload_filter wanted = { .to = OF_DAY(36060) };

	add("a", "i-1", 30);
	add("a", "i-1", 2 * 86400);
	ck_assert_int_eq(objects_filter(&objects, &wanted), -EINVAL);
	ck_assert_uint_eq(objects.count, 0);
}
END_TEST

START_TEST(extremes)
{
	static const struct moment ends[] = { { MOMENT_ABSOLUTE, INT64_MIN },
					      { MOMENT_ABSOLUTE, INT64_MAX },
					      { MOMENT_OFFSET, -INT64_MAX },
					      { MOMENT_OFFSET, INT64_MAX },
					      { MOMENT_DAY, INT64_C(90000000000000) } };

	for (size_t i = 0; i < 25; i++) {
		struct upload_filter wanted = { .from = ends[i / 5], .to = ends[i % 5] };

		add_key("profile_a_ec2_i-1__7_1970-01-01T00-00-00Z-0badcafe.zip");
		add_key("profile_a_ec2_i-1__7_2261-12-31T23-59-59Z-0badcafe.zip");
		objects_filter(&objects, &wanted);
		clear();
	}
}
END_TEST

START_TEST(groups_are_told)
{
	char *groups;

	add("b", "i-1", 1);
	add("a", "i-1", 2);
	add("b", "i-2", 3);
	groups = objects_describe_groups(&objects);
	ck_assert_str_eq(groups, "b, a");
	free(groups);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects");

	tcase_add_checked_fixture(tcase, NULL, clear);
	tcase_add_loop_test(tcase, names_are_taken_apart, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_test(tcase, what_is_no_recording);
	tcase_add_test(tcase, by_group_and_machine);
	tcase_add_test(tcase, what_tells_no_time_stays);
	tcase_add_loop_test(tcase, by_time, 0, sizeof(times) / sizeof(times[0]));
	tcase_add_test(tcase, processes_of_one_name);
	tcase_add_test(tcase, times_of_the_last_day);
	tcase_add_test(tcase, an_end_of_several_days);
	tcase_add_test(tcase, extremes);
	tcase_add_test(tcase, groups_are_told);
	return suite_run(tcase);
}
