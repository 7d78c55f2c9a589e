/* upload/queue/origin.c: a report has the origin of the process that made it, also if another
 * process delivers it. */
#include "upload/queue/origin.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/options/config.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/suite.h"
#include "upload/s3/metadata.h"
#include "upload/s3/s3_target.h"

static char *const pod_here[] = { "POD_NAME=here", NULL };
static const struct config config = { .tags = "who=deliverer", .profiling_group = "deliverer" };
static struct environment environment;
static struct host nowhere, instance, task;

static void setup(void)
{
	environment.entries = pod_here;
	instance = (struct host){ .kind = HOST_EC2,
				  .id = "i-here",
				  .object = cJSON_Parse("{\"ec2_instance_id\":\"i-here\"}") };
	task = (struct host){ .kind = HOST_ECS,
			      .id = "arn:here",
			      .object = cJSON_Parse("{\"ecs_task_arn\":\"arn:here\"}") };
}

static void teardown(void)
{
	cJSON_Delete(instance.object);
	cJSON_Delete(task.object);
}

/* The metadata of a report of ORIGIN (NULL: of this process) that a process on HOST delivers. */
static const char *metadata(const char *origin, const struct host *host)
{
	static struct buf out = BUF_INIT(1 << 20);
	struct report report = a_report(5000);

	buf_free(&out);
	report.origin = origin;
	report.tags = origin ? "who=maker" : NULL;
	report.version = origin ? NULL : "7.1";
	ck_assert_int_eq(metadata_json(&out, &report, &config, host, &environment), 0);
	return buf_string(&out);
}

static const char *machine(const char *origin, const struct host *host)
{
	static struct buf out = BUF_INIT(4096);
	struct report report = a_report(5000);

	buf_free(&out);
	report.origin = origin;
	ck_assert_int_eq(origin_machine(&out, &report, host), 0);
	return buf_string(&out);
}

/* A note of this process; "hostname" and "boot" replaced if given. */
static char *note(const char *hostname, const char *boot)
{
	cJSON *object = origin_note();
	char *text;

	if (hostname)
		cJSON_ReplaceItemInObjectCaseSensitive(object, "hostname",
						       cJSON_CreateString(hostname));
	if (boot)
		cJSON_ReplaceItemInObjectCaseSensitive(object, "boot", cJSON_CreateString(boot));
	text = cJSON_PrintUnformatted(object);
	cJSON_Delete(object);
	return text;
}

#define HAS(text, what)   ck_assert_msg(strstr(text, what), "%s is not in %s", what, text)
#define LACKS(text, what) ck_assert_msg(!strstr(text, what), "%s is in %s", what, text)

START_TEST(this_process_is_told_of)
{
	char hostname[300] = "\"hostname\":\"";
	const char *text = metadata(NULL, &instance);

	ck_assert_int_eq(gethostname(hostname + strlen(hostname), 256), 0);
	HAS(text, hostname);
	HAS(text, "\"kubernetes\":{\"pod\":\"here\"}");
	HAS(text, "\"ec2_instance_id\":\"i-here\"");
	HAS(text, "\"who\":\"deliverer\"");
	HAS(text, "\"service_version\":\"7.1\"");
	ck_assert_str_eq(machine(NULL, &instance), "ec2_i-here_");
	ck_assert_str_eq(machine(NULL, &nowhere), "unknown__");
	/* A file of a spool cannot lead an upload to another place. */
	ck_assert_str_eq(machine("{\"machine\":\"../../other\"}", &nowhere), "unknown__");
	ck_assert_str_eq(machine("{\"machine\":\"a/b\"}", &nowhere), "unknown__");
	ck_assert_str_eq(machine("{\"machine\":\"a?b\\n\"}", &nowhere), "unknown__");
}
END_TEST

START_TEST(another_process_is_told_of)
{
	static const char origin[] =
		"{\"hostname\":\"there\",\"boot\":\"b\",\"cgroup\":\"/"
		"there\",\"machine\":\"ec2_i-1_\","
		"\"host\":{\"ec2_instance_id\":\"i-1\"},\"kubernetes\":{\"pod\":\"there\"}}";
	const char *text = metadata(origin, &instance);

	HAS(text, "\"hostname\":\"there\"");
	HAS(text, "\"cgroup\":\"/there\"");
	HAS(text, "\"kubernetes\":{\"pod\":\"there\"}");
	HAS(text, "\"ec2_instance_id\":\"i-1\"");
	HAS(text, "\"who\":\"maker\"");
	LACKS(text, "\"here\"");
	LACKS(text, "i-here");
	LACKS(text, "service_version");
	ck_assert_str_eq(machine(origin, &instance), "ec2_i-1_");
}
END_TEST

START_TEST(what_sampling_costs)
{
	static struct buf out = BUF_INIT(1 << 20);
	struct report report = a_report(5000);
	const char *text;

	LACKS(metadata(NULL, &nowhere), "\"cost\"");
	report.costs = (struct report_costs){ .elapsed_ns = 1000,
					      .program_ns = 500,
					      .fixed_ns = 2,
					      .kinds = { [COST_WALL] = { 5, 10, 1000, 250 } } };
	ck_assert_int_eq(metadata_json(&out, &report, &config, &nowhere, &environment), 0);
	text = buf_string(&out);
	HAS(text, "\"program_cpu_ns\":500");
	HAS(text, "\"agent_cpu_ns\":2");
	HAS(text, "\"wall\":{\"cpu_ns\":10,\"kept_share\":0.25}");
	LACKS(text, "\"memory\"");
	buf_free(&out);
}
END_TEST

/* Each of the four numbers is enough. Without losses there is no such object. */
START_TEST(what_was_dropped)
{
	static const struct {
		struct report_losses losses;
		const char *text;
	} cases[] = {
		{ { 0, 7, 0, 0, 0 }, "{\"bytes\":7,\"full\":0,\"aged\":0,\"refused\":0}" },
		{ { 0, 0, 7, 0, 0 }, "{\"bytes\":0,\"full\":7,\"aged\":0,\"refused\":0}" },
		{ { 0, 0, 0, 7, 0 }, "{\"bytes\":0,\"full\":0,\"aged\":7,\"refused\":0}" },
		{ { 0, 0, 0, 0, 7 }, "{\"bytes\":0,\"full\":0,\"aged\":0,\"refused\":7}" },
	};
	static struct buf out = BUF_INIT(1 << 20);
	struct report report = a_report(5000);

	LACKS(metadata(NULL, &nowhere), "\"dropped\"");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&out);
		report.losses = cases[i].losses;
		ck_assert_int_eq(metadata_json(&out, &report, &config, &nowhere, &environment), 0);
		HAS(buf_string(&out), "\"dropped\":{");
		HAS(buf_string(&out), cases[i].text);
	}
	buf_free(&out);
}
END_TEST

/* A process that died before it knew its machine: the deliverer's is used if both ran on one
 * machine. */
START_TEST(what_was_not_known_is_taken_from_where_it_is_true)
{
	char *same = note(NULL, NULL), *container = note("another", NULL);
	char *elsewhere = note(NULL, "another");

	HAS(metadata(same, &task), "arn:here");
	ck_assert_str_eq(machine(same, &task), "ecs_arn:here_");
	HAS(metadata(container, &instance), "i-here");
	ck_assert_str_eq(machine(container, &instance), "ec2_i-here_");
	LACKS(metadata(container, &task), "arn:here");
	ck_assert_str_eq(machine(container, &task), "unknown__");
	LACKS(metadata(elsewhere, &instance), "i-here");
	ck_assert_str_eq(machine(elsewhere, &instance), "unknown__");
	cJSON_free(same);
	cJSON_free(container);
	cJSON_free(elsewhere);
}
END_TEST

START_TEST(what_is_known_is_noted)
{
	char *text;

	ck_assert_int_eq(origin_capture(pod_here), 0);
	origin_found(&task);
	text = note(NULL, NULL);
	HAS(text, "\"machine\":\"ecs_arn:here_\"");
	HAS(text, "\"host\":{\"ecs_task_arn\":\"arn:here\"}");
	HAS(text, "\"kubernetes\":{\"pod\":\"here\"}");
	cJSON_free(text);
}
END_TEST

static int64_t now_s;
static unsigned sent, unanswered;
static bool is_taken;

static int64_t tell_now(void)
{
	return now_s;
}

/* The metadata service of an instance, without the first answers. */
static int play(struct http *unused, const struct http_request *request,
		struct http_response *response)
{
	(void)unused;
	sent++;
	if (unanswered) {
		unanswered--;
		response->unanswered = is_taken;
		return -ETIMEDOUT;
	}
	response->status = 200;
	return buf_append_string(&response->body, strcmp(request->method, "GET")
							  ? "TOKEN"
							  : "{\"instanceId\":\"i-late\"}");
}

static struct http http = { .send = play };

static struct aws new_aws(unsigned lost, bool taken)
{
	now_s = 1000000;
	sent = 0;
	unanswered = lost;
	is_taken = taken;
	return (struct aws){ .environment = &environment, .http = &http, .now = tell_now };
}

/* The names of all later reports have it. */
START_TEST(a_machine_that_answers_late_is_known)
{
	struct aws aws = new_aws(1, true);
	struct report report = a_report(5000);
	struct host host = { 0 };

	origin_find_host(&host, &aws, "auto", &report);
	ck_assert_int_eq(host.kind, HOST_UNKNOWN);
	now_s++;
	origin_find_host(&host, &aws, "auto", &report);
	ck_assert_uint_eq(sent, 1); /* too early */
	now_s++;
	report.final = true;
	origin_find_host(&host, &aws, "auto", &report);
	ck_assert_uint_eq(sent, 1); /* the program waits */
	report.final = false;
	origin_find_host(&host, &aws, "auto", &report);
	ck_assert_str_eq(machine(NULL, &host), "ec2_i-late_");
	now_s += 1000;
	origin_find_host(&host, &aws, "auto", &report);
	ck_assert_uint_eq(sent, 3);
	host_free(&host);
	aws_free(&aws);
}
END_TEST

/* In a network that drops such connections, and in a container that gets no answer. */
START_TEST(elsewhere_there_are_few_searches)
{
	struct aws aws = new_aws(UINT32_MAX, _i);
	struct report report = a_report(5000);
	struct host host = { 0 };

	for (int i = 0; i < 1000; i++, now_s += 7)
		origin_find_host(&host, &aws, "auto", &report);
	ck_assert_int_eq(host.kind, HOST_UNKNOWN);
	ck_assert_uint_eq(sent, _i ? 7 : 1);
	aws_free(&aws);
}
END_TEST

static const struct {
	const char *attributes, *version;
} versions[] = {
	{ "service.version=7", "7" },
	{ "a=b, service.version = 1%2C2 ,c=d", "1,2" },
	{ "service.version=,service.version=8,service.version=9", "8" },
	{ "service.versions=1,xservice.version=2,service.version", NULL },
	{ "a=b", NULL },
	{ "", NULL },
	{ NULL, NULL },
};

START_TEST(the_programs_version)
{
	char entry[128], version[ORIGIN_VERSION_MAX];
	char *const entries[] = { versions[_i].attributes ? entry : NULL, NULL };
	cJSON *object;

	snprintf(entry, sizeof(entry), "OTEL_RESOURCE_ATTRIBUTES=%s",
		 versions[_i].attributes ? versions[_i].attributes : "");
	ck_assert_int_eq(origin_capture(entries), 0);
	ck_assert_pstr_eq(origin_own_version(), versions[_i].version);
	object = origin_note();
	ck_assert_int_eq(origin_version(version, object), 0);
	ck_assert_str_eq(version, versions[_i].version ? versions[_i].version : "");
	cJSON_Delete(object);
}
END_TEST

/* If there is no space for an origin, it has none, not another one. */
START_TEST(a_version_that_is_long)
{
	char entry[1024] = "OTEL_RESOURCE_ATTRIBUTES=service.version=";
	char *const entries[] = { entry, NULL };
	size_t length = strlen(entry);

	memset(entry + length, '7', ORIGIN_VERSION_MAX - 1);
	ck_assert_int_eq(origin_capture(entries), 0);
	ck_assert_uint_eq(strlen(origin_own_version()), ORIGIN_VERSION_MAX - 1);
	entry[length + ORIGIN_VERSION_MAX - 1] = '7';
	ck_assert_int_eq(origin_capture(entries), 0);
	ck_assert_ptr_null(origin_own_version());
}
END_TEST

static const struct config destinations[] = {
	{ .s3_bucket = "b" },
	{ .s3_bucket = "c" },
	{ .s3_bucket = "b", .s3_prefix = "p" },
	{ .s3_bucket = "b", .s3_endpoint = "http://one:1" },
	{ .s3_bucket = "b", .s3_endpoint = "http://one:2" },
	{ .s3_bucket = "b", .s3_endpoint = "http://two:1" },
};

/* Each is a different destination. Parts of an address that may be secret are not written. */
START_TEST(destinations_differ)
{
	static char *const named[] = { "AWS_ENDPOINT_URL=http://one:1", NULL };
	struct environment none = { NULL }, of_sdk = { named };
	struct config secret = { .s3_bucket = "b",
				 .s3_endpoint = "https://user:hush@host/?token=hush" };
	char *one, *other;

	for (size_t i = 0; i < sizeof(destinations) / sizeof(destinations[0]); i++) {
		one = s3_destination(&destinations[i], &none);
		other = s3_destination(&destinations[_i], &none);
		ck_assert_int_eq(!strcmp(one, other), i == (size_t)_i);
		free(one);
		free(other);
	}
	one = s3_destination(&destinations[0], &of_sdk);
	other = s3_destination(&destinations[3], &none);
	ck_assert_str_eq(one, other);
	free(one);
	free(other);
	one = s3_destination(&secret, &none);
	LACKS(one, "hush");
	free(one);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("origin");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, this_process_is_told_of);
	tcase_add_test(tcase, another_process_is_told_of);
	tcase_add_test(tcase, what_sampling_costs);
	tcase_add_test(tcase, what_was_dropped);
	tcase_add_test(tcase, what_was_not_known_is_taken_from_where_it_is_true);
	tcase_add_test(tcase, what_is_known_is_noted);
	tcase_add_test(tcase, a_machine_that_answers_late_is_known);
	tcase_add_loop_test(tcase, elsewhere_there_are_few_searches, 0, 2);
	tcase_add_loop_test(tcase, the_programs_version, 0, sizeof(versions) / sizeof(versions[0]));
	tcase_add_test(tcase, a_version_that_is_long);
	tcase_add_loop_test(tcase, destinations_differ, 0,
			    sizeof(destinations) / sizeof(destinations[0]));
	return suite_run(tcase);
}
