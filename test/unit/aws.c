/* Identity and region: credentials, regions and hosts, from servers that the test plays. Each is as
 * strict as the real one: an unexpected method, URL or header gets 400. */
#include "upload/aws/aws.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"
#include "upload/aws/credentials.h"
#include "upload/aws/host.h"
#include "upload/aws/imds.h"
#include "upload/aws/region.h"
#include "upload/aws/sigv4.h"
#include "upload/files/file.h"

struct scene {
	const char *method, *url;
	const char *header, *value; /* required; NULL: none is */
	const char *body_part;
	long status; /* 0: no server */
	const char *answer;
};

static const struct scene *scenes;
static size_t scene_count, sent;
static int64_t now = 1000000;

static int64_t tell_now(void)
{
	return now;
}

static bool fits(const struct scene *scene, const struct http_request *request)
{
	bool header = !scene->header;

	for (size_t i = 0; i < request->header_count && !header; i++)
		header = !strcmp(request->headers[i].name, scene->header) &&
			 strstr(request->headers[i].value, scene->value);
	return header && !strcmp(scene->method, request->method) &&
	       strlen(scene->url) == request->url.length &&
	       !memcmp(scene->url, request->url.data, request->url.length) &&
	       (!scene->body_part || memmem(request->body, request->body_length, scene->body_part,
					    strlen(scene->body_part)));
}

static int play(struct http *http, const struct http_request *request,
		struct http_response *response)
{
	(void)http;
	sent++;
	response->status = 400;
	for (size_t i = 0; i < scene_count; i++) {
		if (!fits(&scenes[i], request))
			continue;
		if (!scenes[i].status)
			return -ETIMEDOUT;
		response->status = scenes[i].status;
		return buf_append_string(&response->body, scenes[i].answer);
	}
	return 0;
}

static struct http http = { .send = play };
static struct environment environment;
static struct aws aws;

static void begin(const struct scene *table, size_t count, char *const *entries)
{
	scenes = table;
	scene_count = count;
	sent = 0;
	aws_free(&aws);
	environment.entries = entries;
	aws = (struct aws){ .environment = &environment, .http = &http, .now = tell_now };
}

#define BEGIN(table, ...) \
	begin(table, sizeof(table) / sizeof(table[0]), (char *[]){ __VA_ARGS__, NULL })

#define JSON_KEYS                                                                                  \
	"{\"Code\":\"Success\",\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\",\"Token\":\"T\"," \
	"\"SessionToken\":\"T\",\"Version\":1,\"Expiration\":\"1970-01-12T14:46:40Z\"}"
#define XML_KEYS                                                                             \
	"<R><Credentials><AccessKeyId>AK</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>" \
	"<SessionToken>T</SessionToken><Expiration>1970-01-12T14:46:40Z</Expiration>"        \
	"</Credentials></R>"
#define EXPIRES 1003600

#define IMDS "http://169.254.169.254/latest/"
#define TTL  "x-aws-ec2-metadata-token-ttl-seconds"
#define SHOW "x-aws-ec2-metadata-token"

static const struct scene instance[] = {
	{ "PUT", IMDS "api/token", TTL, "300", NULL, 200, "TOKEN" },
	{ "GET", IMDS "meta-data/iam/security-credentials/", SHOW, "TOKEN", NULL, 200, "role" },
	{ "GET", IMDS "meta-data/iam/security-credentials/role", SHOW, "TOKEN", NULL, 200,
	  JSON_KEYS },
	{ "GET", IMDS "meta-data/placement/region", SHOW, "TOKEN", NULL, 200, "eu-north-1" },
	{ "GET", IMDS "dynamic/instance-identity/document", SHOW, "TOKEN", NULL, 200,
	  "{\"instanceId\":\"i-0a_b/c\",\"accountId\":\"123\",\"region\":\"eu-north-1\"}" },
};

static const struct scene nobody[] = {
	{ "PUT", IMDS "api/token", NULL, NULL, NULL, 0, "" },
};

static void expect_keys(credentials_get *get, const char *token, int64_t expires)
{
	struct credentials got = { 0 };

	ck_assert_int_eq(get(&aws, &got), 0);
	ck_assert_str_eq(got.id, "AK");
	ck_assert_str_eq(got.secret, "SK");
	ck_assert_pstr_eq(got.token, token);
	ck_assert_int_eq(got.expires, expires);
	credentials_clear(&got);
}

static void expect_failure(credentials_get *get, int expected)
{
	struct credentials got = { 0 };

	ck_assert_int_eq(get(&aws, &got), expected);
}

START_TEST(keys_in_environment)
{
	BEGIN(nobody, "AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=SK", "AWS_SESSION_TOKEN=T");
	expect_keys(credentials_environment, "T", 0);
	BEGIN(nobody, "AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=");
	expect_failure(credentials_environment, -ENOENT);
}
END_TEST

START_TEST(keys_of_instance)
{
	BEGIN(instance, "A=1");
	expect_keys(credentials_instance, "T", EXPIRES);
	BEGIN(instance, "AWS_EC2_METADATA_DISABLED=true");
	expect_failure(credentials_instance, -ENOENT);
	ck_assert_uint_eq(sent, 0);
	BEGIN(nobody, "A=1");
	expect_failure(credentials_instance, -ENOENT);
}
END_TEST

START_TEST(region_in_order)
{
	BEGIN(instance, "AWS_REGION=a", "AWS_DEFAULT_REGION=b");
	ck_assert_str_eq(aws_region(&aws), "a");
	BEGIN(instance, "AWS_DEFAULT_REGION=b");
	ck_assert_str_eq(aws_region(&aws), "b");
	BEGIN(instance, "A=1");
	ck_assert_str_eq(aws_region(&aws), "eu-north-1");
	BEGIN(nobody, "A=1");
	ck_assert_ptr_null(aws_region(&aws));
}
END_TEST

/* A response by plain HTTP would become part of a host name, a path, or a line on a terminal. */
static const struct scene evil[] = {
	{ "PUT", IMDS "api/token", TTL, "300", NULL, 200, "TOKEN" },
	{ "GET", IMDS "meta-data/iam/security-credentials/", SHOW, "TOKEN", NULL, 200,
	  "../../user-data?" },
	{ "GET", IMDS "meta-data/placement/region", SHOW, "TOKEN", NULL, 200, "evil.example/#" },
	{ "GET", IMDS "dynamic/instance-identity/document", SHOW, "TOKEN", NULL, 200,
	  "{\"instanceId\":\"i-0\\u001b[2J\"}" },
};

START_TEST(takes_no_more_than_a_word)
{
	struct buf out = BUF_INIT(1024);
	struct host host;

	BEGIN(evil, "A=1");
	ck_assert_ptr_null(aws_region(&aws));
	expect_failure(credentials_instance, -EBADMSG);
	host_find(&host, &aws, "auto");
	ck_assert_int_eq(host_machine(&host, &out), 0);
	ck_assert_str_eq(buf_string(&out), "unknown__");
	host_free(&host);
	buf_free(&out);
	BEGIN(instance, "AWS_REGION=evil.example/#", "AWS_DEFAULT_REGION=b");
	ck_assert_str_eq(aws_region(&aws), "b");
}
END_TEST

#define TASK                                                               \
	"{\"Cluster\":\"arn:aws:ecs:eu-west-1:99:cluster/c\",\"TaskARN\":" \
	"\"arn:aws:ecs:eu-west-1:99:task/my_c/0b\",\"Limits\":{\"CPU\":0.5,\"Memory\":512}}"

static const struct scene task[] = {
	{ "PUT", IMDS "api/token", NULL, NULL, NULL, 0, "" },
	{ "GET", "http://169.254.170.2/v4/x/task", NULL, NULL, NULL, 200, TASK },
	{ "GET", "http://169.254.170.2/v2/creds", "accept", "json", NULL, 200, JSON_KEYS },
	{ "GET", "https://agent/creds", "authorization", "word", NULL, 200, JSON_KEYS },
	{ "GET", "http://127.0.0.1:9/creds", "authorization", "word", NULL, 403, "" },
};

static void expect_machine(const char *setting, const char *machine)
{
	struct buf out = BUF_INIT(1024);
	struct host host;

	host_find(&host, &aws, setting);
	ck_assert_int_eq(host_machine(&host, &out), 0);
	ck_assert_str_eq(buf_string(&out), machine);
	host_free(&host);
	buf_free(&out);
}

START_TEST(machine_names)
{
	BEGIN(instance, "A=1");
	expect_machine("auto", "ec2_i-0a-b-c_");
	ck_assert_uint_eq(sent, 2);
	BEGIN(task, "ECS_CONTAINER_METADATA_URI_V4=http://169.254.170.2/v4/x");
	expect_machine("auto", "ecs_arn:aws:ecs:eu-west-1:99:task-my-c-0b_");
	BEGIN(nobody, "A=1");
	expect_machine("auto", "unknown__");
	BEGIN(instance, "A=1");
	expect_machine("none", "unknown__");
	ck_assert_uint_eq(sent, 0);
	expect_machine("file:/nonexistent", "unknown__");
}
END_TEST

START_TEST(task_limits)
{
	struct host host = { 0 };

	BEGIN(task, "ECS_CONTAINER_METADATA_URI_V4=http://169.254.170.2/v4/x");
	ck_assert_int_eq(host_ecs(&host, &aws), 0);
	ck_assert_str_eq(cJSON_GetObjectItem(host.object, "aws_account_id")->valuestring, "99");
	ck_assert_double_eq(cJSON_GetObjectItem(host.object, "cpu_limit")->valuedouble, 0.5);
	ck_assert_double_eq(cJSON_GetObjectItem(host.object, "memory_limit_mib")->valuedouble, 512);
	host_free(&host);
}
END_TEST

START_TEST(keys_of_container)
{
	BEGIN(task, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/creds");
	expect_keys(credentials_container, "T", EXPIRES);
	BEGIN(task, "AWS_CONTAINER_CREDENTIALS_FULL_URI=https://agent/creds",
	      "AWS_CONTAINER_AUTHORIZATION_TOKEN=word");
	expect_keys(credentials_container, "T", EXPIRES);
	BEGIN(task, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:9/creds",
	      "AWS_CONTAINER_AUTHORIZATION_TOKEN=word");
	expect_failure(credentials_container, -EACCES);
	BEGIN(task, "A=1");
	expect_failure(credentials_container, -ENOENT);
}
END_TEST

static char *temporary(const char *text)
{
	static char path[4][32];
	static int n;
	int fd;

	n = (n + 1) % 4;
	strcpy(path[n], "/tmp/asprof-aws-XXXXXX");
	fd = mkstemp(path[n]);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path[n];
}

/* A path, or a word from a server, would be appended: no request is sent. */
static char *const bad_bases[][4] = {
	{ "ECS_CONTAINER_METADATA_URI_V4=http://host/?token=secret",
	  "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://user:secret@host" },
	{ "ECS_CONTAINER_METADATA_URI_V4=http://host/#",
	  "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://host/?token=secret" },
	{ "ECS_CONTAINER_METADATA_URI_V4=ftp://host/",
	  "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://host/#secret" },
	{ "AWS_ENDPOINT_URL_STS=http://host/#secret", "AWS_ROLE_ARN=arn:aws:iam::1:role/r",
	  "AWS_REGION=b" },
	{ "AWS_ENDPOINT_URL_STS=http://user:secret@host/", "AWS_ROLE_ARN=arn:aws:iam::1:role/r",
	  "AWS_REGION=b" },
	{ "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://user:secret@host/?token=secret" },
};

START_TEST(asks_at_no_bad_url_and_tells_no_secret)
{
	char *path = temporary(""), token[64], *entries[5] = { token };
	struct credentials_provider *provider;
	struct buf said = BUF_INIT(4096);
	struct credentials got = { 0 };
	struct host host;

	snprintf(token, sizeof(token), "AWS_WEB_IDENTITY_TOKEN_FILE=%s", temporary("a.b/c"));
	for (size_t i = 0; i < 3 && bad_bases[_i][i]; i++)
		entries[i + 1] = bad_bases[_i][i];
	begin(NULL, 0, entries);
	ck_assert_int_eq(log_open(LOG_DEBUG, path), 0);
	host_find(&host, &aws, "auto");
	ck_assert_int_eq(host.kind, HOST_UNKNOWN);
	ck_assert_int_eq(credentials_default(&provider, &aws), 0);
	sent = 0; /* from clients without the setting, to the default address */
	if (strstr(entries[1], "STS"))
		ck_assert_int_eq(provider->get(provider, &got), -EINVAL);
	else if (strstr(entries[1], "FULL"))
		ck_assert_int_eq(provider->get(provider, &got), -EPERM);
	ck_assert_uint_eq(sent, 0);
	ck_assert_int_eq(log_open(LOG_OFF, NULL), 0);
	ck_assert_int_eq(file_read(&said, path), 0);
	ck_assert_msg(!memmem(said.data, said.length, "secret", 6), "%s", buf_string(&said));
	buf_free(&said);
	provider->destroy(provider);
	unlink(path);
	unlink(strchr(token, '=') + 1);
}
END_TEST

/* Without TLS only to loopback and the agents' own addresses. */
static const char *const refused_hosts[] = {
	"http://example.com/", "http://169.254.169.254/x", "http://127.0.0.1.example.com/",
	"ftp://127.0.0.1/",    "http://user@127.0.0.1/",   "http://128.0.0.1/",
};

START_TEST(refuses_other_hosts)
{
	char entry[128];

	snprintf(entry, sizeof(entry), "AWS_CONTAINER_CREDENTIALS_FULL_URI=%s", refused_hosts[_i]);
	BEGIN(task, entry);
	expect_failure(credentials_container, -EPERM);
	ck_assert_uint_eq(sent, 0);
}
END_TEST

#define STS "https://sts.eu-west-1.amazonaws.com/"
static const struct scene sts[] = {
	{ "POST", STS, "authorization", "Credential=SOURCE/",
	  "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Ar&RoleSessionName=s&DurationSeconds="
	  "900",
	  200, XML_KEYS },
	{ "POST", STS, "content-type", "urlencoded",
	  "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%"
	  "3Arole"
	  "%2Fr&RoleSessionName=s&WebIdentityToken=a.b%2Fc",
	  200, XML_KEYS },
};

static const char config_text[] = "[default]\nregion = eu-west-1\n"
				  "[profile role]\nrole_arn = arn:r\nsource_profile = keys\n"
				  "role_session_name = s\nduration_seconds = 900\n"
				  "[profile loop]\nrole_arn = arn:r\nsource_profile = loop2\n"
				  "[profile loop2]\nrole_arn = arn:r\nsource_profile = loop\n"
				  "[profile run]\ncredential_process = cat $KEYS\n"
				  "[profile bad]\ncredential_process = exit 3\n";
static const char keys_text[] = "[default]\naws_access_key_id=AK\naws_secret_access_key=SK\n"
				"[keys]\naws_access_key_id=SOURCE\naws_secret_access_key=X\n";

/* The thread sanitizer does not survive a clone(2) with shared memory, and an emulator has none. */
static bool can_clone(void)
{
	return !THREAD_SANITIZED && !getenv("TEST_RUNNER");
}

START_TEST(region_of_a_profile_comes_after_the_variables)
{
	char config[64];

	snprintf(config, sizeof(config), "AWS_CONFIG_FILE=%s",
		 temporary("[default]\nregion = c\n"));
	BEGIN(instance, config, "AWS_REGION=a", "AWS_DEFAULT_REGION=b");
	ck_assert_str_eq(aws_region(&aws), "a");
	BEGIN(instance, config, "AWS_DEFAULT_REGION=b");
	ck_assert_str_eq(aws_region(&aws), "b");
	BEGIN(instance, config);
	ck_assert_str_eq(aws_region(&aws), "c");
	unlink(strchr(config, '=') + 1);
}
END_TEST

START_TEST(keys_in_files)
{
	char config[64], keys[64], answer[64];

	snprintf(config, sizeof(config), "AWS_CONFIG_FILE=%s", temporary(config_text));
	snprintf(keys, sizeof(keys), "AWS_SHARED_CREDENTIALS_FILE=%s", temporary(keys_text));
	snprintf(answer, sizeof(answer), "KEYS=%s", temporary(JSON_KEYS));
	BEGIN(sts, config, keys);
	expect_keys(credentials_profile, NULL, 0);
	BEGIN(sts, config, keys, "AWS_REGION=eu-west-1", "AWS_PROFILE=role");
	expect_keys(credentials_profile, "T", EXPIRES);
	if (can_clone()) {
		BEGIN(sts, config, keys, "AWS_PROFILE=run", "PATH=/bin:/usr/bin", answer);
		expect_keys(credentials_profile, "T", EXPIRES);
		/* no child that a program could see */
		ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
		ck_assert_int_eq(errno, ECHILD);
		BEGIN(sts, config, keys, "AWS_PROFILE=bad", "PATH=/bin:/usr/bin");
		expect_failure(credentials_profile, -ECHILD);
	}
	BEGIN(sts, config, keys, "AWS_PROFILE=nosuch");
	expect_failure(credentials_profile, -ENOENT);
	BEGIN(sts, config, keys, "AWS_REGION=eu-west-1", "AWS_PROFILE=loop");
	expect_failure(credentials_profile, -ELOOP);
	unlink(strchr(config, '=') + 1);
	unlink(strchr(keys, '=') + 1);
	unlink(strchr(answer, '=') + 1);
}
END_TEST

START_TEST(keys_by_web_identity)
{
	char token[64];

	snprintf(token, sizeof(token), "AWS_WEB_IDENTITY_TOKEN_FILE=%s", temporary("a.b/c"));
	BEGIN(sts, token, "AWS_ROLE_ARN=arn:aws:iam::1:role/r", "AWS_ROLE_SESSION_NAME=s",
	      "AWS_REGION=eu-west-1");
	expect_keys(credentials_web, "T", EXPIRES);
	BEGIN(nobody, token);
	expect_failure(credentials_web, -ENOENT);
	unlink(strchr(token, '=') + 1);
}
END_TEST

START_TEST(endpoint_in_order)
{
	char config[64], *endpoint;

	snprintf(config, sizeof(config), "AWS_CONFIG_FILE=%s",
		 temporary("[default]\nendpoint_url = http://p\nservices = x\n"
			   "[services x]\ns3 =\n  endpoint_url = http://s\n"));
	BEGIN(nobody, config, "AWS_ENDPOINT_URL=http://e", "AWS_ENDPOINT_URL_S3=http://e3");
	endpoint = aws_endpoint(&aws, "s3");
	ck_assert_str_eq(endpoint, "http://e3");
	free(endpoint);
	endpoint = aws_endpoint(&aws, "sts");
	ck_assert_str_eq(endpoint, "http://e");
	free(endpoint);
	BEGIN(nobody, config);
	endpoint = aws_endpoint(&aws, "s3");
	ck_assert_str_eq(endpoint, "http://s");
	free(endpoint);
	endpoint = aws_endpoint(&aws, "sts");
	ck_assert_str_eq(endpoint, "http://p");
	free(endpoint);
	BEGIN(nobody, config, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true");
	ck_assert_ptr_null(aws_endpoint(&aws, "s3"));
	unlink(strchr(config, '=') + 1);
}
END_TEST

static size_t count_lines(const char *path)
{
	struct buf said = BUF_INIT(4096);
	size_t lines = 0;

	ck_assert_int_eq(file_read(&said, path), 0);
	for (size_t i = 0; i < said.length; i++)
		lines += said.data[i] == '\n';
	buf_free(&said);
	return lines;
}

START_TEST(warns_once)
{
	static const atomic_bool stop = true;
	char *path = temporary("");

	BEGIN(nobody, "A=1");
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	aws_warn(&aws, "role %d", 1);
	aws_warn(&aws, "role %d", 2);
	aws_warn(&aws, "role %d", 1);
	aws_reset_warnings(&aws);
	aws_warn(&aws, "role %d", 1);
	aws.stop = &stop;
	aws_warn(&aws, "role %d", 3);
	ck_assert_int_eq(log_open(LOG_OFF, NULL), 0);
	ck_assert_uint_eq(count_lines(path), 3);
	unlink(path);
}
END_TEST

START_TEST(says_a_refused_host_once)
{
	char *path = temporary("");

	BEGIN(nobody, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://example.com/");
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	for (int i = 0; i < 3; i++)
		expect_failure(credentials_container, -EPERM);
	ck_assert_int_eq(log_open(LOG_OFF, NULL), 0);
	ck_assert_uint_eq(count_lines(path), 1);
	unlink(path);
}
END_TEST

static int asked;
static int source_err;

static int source_get(struct credentials_provider *provider, struct credentials *out)
{
	(void)provider;
	asked++;
	return source_err ? source_err : credentials_set(out, "AK", "SK", "T", now + 3600);
}

static void source_destroy(struct credentials_provider *provider)
{
	(void)provider;
}

static int cached_get(struct credentials_provider *cache)
{
	struct credentials got = { 0 };
	int err = cache->get(cache, &got);

	credentials_clear(&got);
	return err;
}

START_TEST(cache_renews_early)
{
	struct credentials_provider source = { .name = "s",
					       .get = source_get,
					       .destroy = source_destroy };
	struct credentials_provider *cache;

	BEGIN(nobody, "A=1");
	now = 5000;
	ck_assert_int_eq(credentials_cache(&cache, &source, &aws), 0);
	ck_assert_int_eq(cached_get(cache), 0);
	now += 3299;
	ck_assert_int_eq(cached_get(cache), 0);
	ck_assert_int_eq(asked, 1);
	now += 1;
	source_err = -EIO; /* the present ones are valid for five minutes more */
	ck_assert_int_eq(cached_get(cache), 0);
	ck_assert_int_eq(cached_get(cache), 0);
	ck_assert_int_eq(asked, 2);
	now += 300;
	ck_assert_int_eq(cached_get(cache), -EIO);
	ck_assert_int_eq(cached_get(cache), -EIO); /* not requested twice in a second */
	ck_assert_int_eq(asked, 3);
	source_err = 0;
	now += 60;
	ck_assert_int_eq(cached_get(cache), 0);
	credentials_forget(cache);
	ck_assert_int_eq(cached_get(cache), 0);
	ck_assert_int_eq(asked, 5);
	cache->destroy(cache);
}
END_TEST

/* "GET Object" of "Authenticating Requests: Using the Authorization Header" in Amazon's S3
 * reference, and its "PUT Object". */
START_TEST(signs_as_documented)
{
	struct http_request get = HTTP_REQUEST_INIT("GET", 1, 1),
			    put = HTTP_REQUEST_INIT("PUT", 1, 1);
	struct credentials keys = { .id = "AKIAIOSFODNN7EXAMPLE",
				    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" };
	struct sigv4 with = {
		.credentials = &keys, .region = "us-east-1", .service = "s3", .now = 1369353600
	};

	buf_append_string(&get.url, "https://examplebucket.s3.amazonaws.com/test.txt");
	http_request_header(&get, "range", "bytes=0-9");
	ck_assert_int_eq(sigv4_sign(&get, &with), 0);
	ck_assert_ptr_nonnull(strstr(
		get.headers[get.header_count - 1].value,
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
	buf_append_string(&put.url, "https://examplebucket.s3.amazonaws.com/test%24file.text");
	http_request_header(&put, "date", "Fri, 24 May 2013 00:00:00 GMT");
	http_request_header(&put, "x-amz-storage-class", "REDUCED_REDUNDANCY");
	put.body = "Welcome to Amazon S3.";
	put.body_length = 21;
	ck_assert_int_eq(sigv4_sign(&put, &with), 0);
	ck_assert_ptr_nonnull(strstr(
		put.headers[put.header_count - 1].value,
		"Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
	http_request_free(&get);
	http_request_free(&put);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("aws");

	tcase_add_test(tcase, keys_in_environment);
	tcase_add_test(tcase, keys_of_instance);
	tcase_add_test(tcase, region_in_order);
	tcase_add_test(tcase, takes_no_more_than_a_word);
	tcase_add_test(tcase, machine_names);
	tcase_add_test(tcase, task_limits);
	tcase_add_test(tcase, keys_of_container);
	tcase_add_loop_test(tcase, refuses_other_hosts, 0,
			    sizeof(refused_hosts) / sizeof(refused_hosts[0]));
	tcase_add_loop_test(tcase, asks_at_no_bad_url_and_tells_no_secret, 0,
			    sizeof(bad_bases) / sizeof(bad_bases[0]));
	tcase_add_test(tcase, region_of_a_profile_comes_after_the_variables);
	tcase_add_test(tcase, keys_in_files);
	tcase_add_test(tcase, keys_by_web_identity);
	tcase_add_test(tcase, endpoint_in_order);
	tcase_add_test(tcase, warns_once);
	tcase_add_test(tcase, says_a_refused_host_once);
	tcase_add_test(tcase, cache_renews_early);
	tcase_add_test(tcase, signs_as_documented);
	return suite_run(tcase);
}
