/* The S3 reporter: each report is a zip file in a bucket. */
#include "upload/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "upload/aws/credentials.h"
#include "upload/aws/sigv4.h"
#include "upload/http/http_curl.h"
#include "upload/queue/origin.h"
#include "upload/s3/metadata.h"
#include "upload/s3/s3_bucket.h"
#include "upload/s3/s3_target.h"
#include "upload/s3/upload_name.h"
#include "upload/s3/zip.h"

#define BODY_MAX (1u << 30)
#define KEY_MAX  1024 /* that of S3 */
#define NAMES    4    /* that are tried where they are taken */

struct s3 {
	struct reporter reporter;
	char *destination;
	const struct config *config;
	struct environment environment;
	struct aws aws;
	struct http *http; /* NULL: opened with the first report */
	struct credentials_provider *credentials;
	struct s3_target target;
	struct host host;
	bool ready, host_known;
	struct s3_bucket bucket;
	char doubt[KEY_MAX + 1]; /* a name under which a report may have been put; "": none */
	int64_t opened;          /* seconds since 1970 */
	atomic_bool stop;
};

/* What lies in the bucket under a name. */
enum there { EXISTING_NONE, EXISTING_SAME, EXISTING_OTHER, EXISTING_UNKNOWN };

static int s3_look_up(struct s3 *s3, const struct s3_request *put, enum there *there)
{
	struct s3_request request = { .method = "HEAD", .key = put->key };
	struct http_response response = HTTP_RESPONSE_INIT;
	bool in_doubt;
	int err = s3_bucket_ask(&s3->bucket, &request, &response, &in_doubt);

	*there = EXISTING_UNKNOWN; /* who may write may not always read */
	if (response.status == 404)
		*there = EXISTING_NONE;
	else if (!err && (response.sha256[0] ? !strcmp(response.sha256, put->sha256)
					     : response.length == (int64_t)put->body->length))
		*there = EXISTING_SAME;
	else if (!err)
		*there = EXISTING_OTHER;
	/* No answer, or none that is about this. */
	err = response.status && response.status < 500 ? 0 : err;
	http_response_free(&response);
	return err;
}

/* Where it is DOUBTED whether the report was put there already, the store is asked first. Returns
 * -EEXIST where the name is another report's. */
static int s3_put_key(struct s3 *s3, const struct s3_request *request, bool doubted)
{
	bool in_doubt;
	struct http_response response = HTTP_RESPONSE_INIT;
	enum there there;
	int err = 0;

	if (doubted)
		err = s3_look_up(s3, request, &there);
	if (doubted && there == EXISTING_OTHER)
		err = -EEXIST;
	if (doubted && (err || there == EXISTING_SAME))
		goto out;
	err = s3_bucket_ask(&s3->bucket, request, &response, &in_doubt);
	if (in_doubt && strlen(request->key) < sizeof(s3->doubt))
		strcpy(s3->doubt, request->key);
	if (err != -EEXIST)
		goto out;
	err = s3_look_up(s3, request, &there);
	if (err)
		goto out;
	/* Where one may not look: the first try, of which no answer came, took the name. */
	if (there == EXISTING_NONE)
		err = -EAGAIN;
	else if (there == EXISTING_OTHER || (there == EXISTING_UNKNOWN && !doubted))
		err = -EEXIST;
out:
	http_response_free(&response);
	return err;
}

static void s3_log_long_key(struct s3 *s3, const struct report *report)
{
	const char *group = report->group ? report->group : s3->config->profiling_group;
	size_t prefix = s3->config->s3_prefix ? strlen(s3->config->s3_prefix) : 0;
	bool by_group = strlen(group) > prefix;
	char line[256];

	snprintf(line, sizeof(line),
		 "a report's name would be longer than the %d bytes that S3 takes; "
		 "shorten " OPTION_PREFIX "%s, which has %zu",
		 KEY_MAX, by_group ? "PROFILING_GROUP" : "S3_PREFIX",
		 by_group ? strlen(group) : prefix);
	s3_bucket_log_error(&s3->bucket, "long key", line);
}

/* No answer came to the last try, or an earlier process may not have lived to see one. */
static bool s3_is_in_doubt(const struct s3 *s3, const struct report *report, const char *key)
{
	return !strcmp(s3->doubt, key) ||
	       (report->origin && report->end_ms / 1000 < (uint64_t)s3->opened);
}

/* A name that is taken, though it should be nobody's, is followed by others that are always the same
 * for the same report. */
static int put(struct s3 *s3, const struct report *report, const struct buf *body)
{
	char sha256[SIGV4_HASH_SIZE];
	struct report named = *report;
	struct buf key = BUF_INIT(KEY_MAX + 1);
	struct s3_request request = { .method = "PUT", .body = body, .sha256 = sha256 };
	int err = sigv4_hash(sha256, body->data, body->length);

	if (err)
		goto out;
	err = -EEXIST;
	for (int i = 0; i < NAMES && err == -EEXIST; i++) {
		buf_reset(&key);
		err = upload_name(&key, s3->config, &named, &s3->host);
		if (!err)
			err = buf_reserve(&key, 1); /* its NUL */
		if (err == -EFBIG) {
			s3_log_long_key(s3, report);
			err = -EBADMSG;
		}
		if (err)
			goto out;
		request.key = buf_string(&key);
		err = s3_put_key(s3, &request, s3_is_in_doubt(s3, report, request.key));
		named.unique += (uint32_t)strtoul(sha256 + 56, NULL, 16) | 1;
	}
	if (err == -EEXIST) {
		s3_bucket_log_error(&s3->bucket, "names",
				    "the store says of every name that it is taken");
		err = -EACCES;
	}
	if (err)
		goto out;
	s3->doubt[0] = '\0';
	s3_bucket_log_recovery(&s3->bucket);
	log_debug("put %s%s, %zu bytes", s3->target.base, request.key, body->length);
out:
	buf_free(&key);
	return err;
}

/* What takes asking others is done here, on the thread that may wait. */
static int s3_prepare(struct s3 *s3)
{
	char *ca = NULL, problem[S3_TARGET_PROBLEM_SIZE] = "";
	int err = 0;

	if (!s3->http) {
		ca = aws_ca_file(&s3->aws);
		err = http_curl_open(&s3->http, ca, &s3->stop);
		free(ca);
		if (err)
			return err;
	}
	s3->aws.http = s3->http;
	if (!s3->credentials)
		err = credentials_default(&s3->credentials, &s3->aws);
	if (!err && !s3->host_known) {
		host_find(&s3->host, &s3->aws, s3->config->metadata);
		s3->host_known = true;
		origin_found(&s3->host);
	}
	if (!err)
		err = s3_target_find(&s3->target, &s3->aws, s3->config, problem);
	if (problem[0])
		s3_bucket_log_error(&s3->bucket, problem, problem);
	s3->bucket.credentials = s3->credentials;
	s3->ready = !err;
	return err;
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	struct s3 *s3 = (struct s3 *)reporter;
	struct buf metadata = BUF_INIT(256 << 10), body = BUF_INIT(BODY_MAX);
	int err = 0;

	if (!s3->ready)
		err = s3_prepare(s3);
	if (err)
		return err;
	err = metadata_json(&metadata, report, s3->config, &s3->host, &s3->environment);
	if (!err)
		err = buf_reserve(&metadata, 1); /* its NUL */
	if (!err)
		err = zip_report(&body, report, buf_string(&metadata));
	if (err == -EFBIG || err == -ENODATA) {
		log_error("a report of %" PRIu64 " bytes is not uploaded: %s",
			  report_length(report), strerror(-err));
		err = -EBADMSG;
	}
	if (!err)
		err = put(s3, report, &body);
	buf_free(&metadata);
	buf_free(&body);
	return err;
}

static void cancel(struct reporter *reporter)
{
	atomic_store(&((struct s3 *)reporter)->stop, true);
}

static void s3_close(struct reporter *reporter)
{
	struct s3 *s3 = (struct s3 *)reporter;

	if (s3->credentials)
		s3->credentials->destroy(s3->credentials);
	if (s3->http)
		s3->http->close(s3->http);
	s3_target_free(&s3->target);
	host_free(&s3->host);
	aws_free(&s3->aws);
	environment_free(&s3->environment);
	free(s3->destination);
	free(s3);
}

static int64_t aws_clock(void)
{
	return (int64_t)(clock_realtime_ns() / 1000000000u);
}

int s3_reporter_open_with(struct reporter **out, const struct config *config,
			  char *const *environment, struct http *http, int64_t (*now)(void))
{
	struct s3 *s3 = calloc(1, sizeof(*s3));

	if (!s3)
		return -ENOMEM;
	if (environment_copy(&s3->environment, environment)) {
		free(s3);
		return -ENOMEM;
	}
	s3->destination = s3_destination(config, &s3->environment);
	s3->reporter = (struct reporter){ .name = "s3",
					  .destination = s3->destination,
					  .deliver = deliver,
					  .close = s3_close,
					  .cancel = cancel };
	s3->config = config;
	s3->http = http;
	s3->aws.environment = &s3->environment;
	s3->aws.now = now;
	s3->opened = now();
	s3->aws.region = config->s3_region;
	s3->aws.stop = &s3->stop;
	s3->bucket.config = config;
	s3->bucket.aws = &s3->aws;
	s3->bucket.target = &s3->target;
	*out = &s3->reporter;
	return 0;
}

static struct environment captured;

int s3_capture_environment(char *const *environment)
{
	environment_free(&captured);
	return environment_copy(&captured, environment);
}

int s3_reporter_open(struct reporter **out, const struct config *config)
{
	return s3_reporter_open_with(out, config, captured.entries ? captured.entries : environ,
				     NULL, aws_clock);
}
