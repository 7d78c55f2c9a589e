/* S3 reporter: each report becomes a zip file in a bucket. */
#include "upload/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "upload/aws/credentials.h"
#include "upload/aws/sigv4.h"
#include "upload/queue/origin.h"
#include "upload/s3/metadata.h"
#include "upload/s3/s3_bucket.h"
#include "upload/s3/s3_target.h"
#include "upload/s3/upload_name.h"
#include "upload/s3/zip.h"

#define BODY_MAX (1u << 30)
#define KEY_MAX  1024 /* the limit of S3 */
#define KEYS_MAX 4    /* tried in order while they exist */

struct s3 {
	struct reporter reporter;
	char *destination;
	const struct config *config;
	struct environment environment;
	struct aws aws;
	struct credentials_provider *credentials;
	struct s3_target target;
	struct host host;
	bool is_ready;
	struct s3_bucket bucket;
	char doubtful_key[KEY_MAX + 1]; /* may exist, its PUT got no response; "": none */
	bool head_failure_logged; /* logged that the store rejects HEAD; false after a HEAD succeeds */
	bool head_unanswered;     /* the last HEAD got no response */
	int64_t opened;           /* time of opening, seconds since 1970 */
	atomic_bool stop;
};

/* State of a key in the bucket, compared with the report. */
enum existing { EXISTING_NONE, EXISTING_SAME, EXISTING_OTHER, EXISTING_UNKNOWN };

/* A gateway or store may reject HEAD and still accept PUT. */
static void s3_log_head(struct s3 *s3, long status)
{
	if ((status >= 200 && status < 300) || status == 404) {
		s3->head_failure_logged = false;
	} else if (status >= 500 && !s3->head_failure_logged) {
		log_warn("the bucket %s: %s answers HEAD with %ld; the agent cannot check whether "
			 "a report exists and uploads it again",
			 s3->config->s3_bucket, s3->target.base, status);
		s3->head_failure_logged = true;
	}
}

/* Look up the key of PUT. Returns 0, or -errno without a response: then PUT, which takes longer,
 * would fail too. After two lookups in a row without a response PUT is tried anyway. */
static int s3_look_up(struct s3 *s3, const struct s3_request *put, enum existing *existing)
{
	struct s3_request request = { .method = "HEAD", .key = put->key };
	struct http_response response = HTTP_RESPONSE_INIT;
	bool in_doubt;
	int err = s3_bucket_ask(&s3->bucket, &request, &response, &in_doubt);

	*existing = EXISTING_UNKNOWN; /* write permission does not imply read permission */
	if (response.status == 404)
		*existing = EXISTING_NONE;
	else if (!err && (response.sha256[0] ? !strcmp(response.sha256, put->sha256)
					     : response.length == (int64_t)put->body->length))
		*existing = EXISTING_SAME;
	else if (!err)
		*existing = EXISTING_OTHER;
	s3_log_head(s3, response.status);
	if (response.status || (s3->head_unanswered && err != -ECANCELED))
		err = 0;
	s3->head_unanswered = err;
	http_response_free(&response);
	return err;
}

/* A report from a spool. The process that made it may have been killed during its upload. */
static bool s3_is_from_spool(const struct report *report)
{
	return report->origin && report->pid != getpid();
}

/* Put the report under the key of REQUEST. If IN_DOUBT, first look up the key, because an
 * earlier PUT may have succeeded. A new doubt is recorded in the report's begun. Returns -EEXIST
 * if the key belongs to another report. */
static int s3_put_key(struct s3 *s3, const struct s3_request *request, bool was_in_doubt,
		      const struct report *report)
{
	bool in_doubt;
	struct http_response response = HTTP_RESPONSE_INIT;
	enum existing existing;
	int err = 0;

	if (was_in_doubt)
		err = s3_look_up(s3, request, &existing);
	if (was_in_doubt && existing == EXISTING_OTHER)
		err = -EEXIST;
	if (was_in_doubt && (err || existing == EXISTING_SAME))
		goto out;
	err = s3_bucket_ask(&s3->bucket, request, &response, &in_doubt);
	if (in_doubt && strlen(request->key) < sizeof(s3->doubtful_key))
		strcpy(s3->doubtful_key, request->key);
	if (in_doubt && report->begun)
		report->begun->doubt = DOUBT_ALL;
	if (err != -EEXIST)
		goto out;
	was_in_doubt = was_in_doubt || in_doubt || s3_is_from_spool(report);
	err = s3_look_up(s3, request, &existing);
	if (err)
		goto out;
	/* The lookup is not permitted: the first PUT, whose response was lost, created the key. */
	if (existing == EXISTING_NONE)
		err = -EAGAIN;
	else if (existing == EXISTING_OTHER || (existing == EXISTING_UNKNOWN && !was_in_doubt))
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
		 "a report's key exceeds the %d bytes of S3's limit; shorten " OPTION_PREFIX
		 "%s (%zu bytes)",
		 KEY_MAX, by_group ? "PROFILING_GROUP" : "S3_PREFIX",
		 by_group ? strlen(group) : prefix);
	s3_bucket_log_error(&s3->bucket, "long key", line);
}

/* True if the last PUT of KEY got no response, or if an earlier process may have ended before
 * the response. */
static bool s3_is_in_doubt(const struct s3 *s3, const struct report *report, const char *key)
{
	return !strcmp(s3->doubtful_key, key) ||
	       (report->begun && report->begun->doubt != DOUBT_NONE) ||
	       (report->origin && report->end_ms / 1000 < (uint64_t)s3->opened);
}

/* Try a few keys. Unique keys should not exist already; if one does, the next keys are derived
 * from the report's hash, so that a retry uses the same ones. */
static int s3_put_report(struct s3 *s3, const struct report *report, const struct buf *body)
{
	char sha256[SIGV4_HASH_SIZE];
	struct report named = *report;
	struct buf key = BUF_INIT(KEY_MAX + 1);
	struct s3_request request = { .method = "PUT", .body = body, .sha256 = sha256 };
	int err = sigv4_hash(sha256, body->data, body->length);

	if (err)
		goto out;
	err = -EEXIST;
	for (int i = 0; i < KEYS_MAX && err == -EEXIST; i++) {
		buf_reset(&key);
		err = upload_name(&key, s3->config, &named, &s3->host);
		if (!err)
			err = buf_reserve(&key, 1); /* for the NUL */
		if (err == -EFBIG) {
			s3_log_long_key(s3, report);
			err = -EBADMSG;
		}
		if (err)
			goto out;
		request.key = buf_string(&key);
		err = s3_put_key(s3, &request, s3_is_in_doubt(s3, report, request.key), report);
		named.unique += (uint32_t)strtoul(sha256 + 56, NULL, 16) | 1;
	}
	if (err == -EEXIST) {
		s3_bucket_log_error(&s3->bucket, "names",
				    "the store reports that each tried key exists");
		err = -EACCES;
	}
	if (err)
		goto out;
	s3->doubtful_key[0] = '\0';
	s3_bucket_log_recovery(&s3->bucket);
	log_debug("put %s%s, %zu bytes", s3->target.base, request.key, body->length);
out:
	buf_free(&key);
	return err;
}

/* Initialization that needs the network; runs in the delivery thread. */
static int s3_prepare(struct s3 *s3, const struct report *report)
{
	char problem[S3_TARGET_PROBLEM_SIZE] = "";
	int err = aws_open_http(&s3->aws);

	if (err)
		return err;
	if (!s3->credentials)
		err = credentials_default(&s3->credentials, &s3->aws);
	if (!err) {
		origin_find_host(&s3->host, &s3->aws, s3->config->metadata, report);
		err = s3_target_find(&s3->target, &s3->aws, s3->config, problem);
	}
	if (problem[0])
		s3_bucket_log_error(&s3->bucket, problem, problem);
	s3->bucket.credentials = s3->credentials;
	s3->is_ready = !err;
	return err;
}

/* The zip of REPORT failed with ERR; a retry may succeed. */
static void s3_log_no_zip(struct s3 *s3, const struct report *report, int err)
{
	char cause[S3_CAUSE_MAX], line[256];

	snprintf(cause, sizeof(cause), "zip error %d", -err);
	snprintf(line, sizeof(line), "cannot compress a report of %" PRIu64 " bytes: %s%s",
		 report_length(report), strerror(-err),
		 err == -ENOMEM ? "; increase " OPTION_PREFIX "MEMORY" : "");
	s3_bucket_log_error(&s3->bucket, cause, line);
}

static int s3_deliver(struct reporter *reporter, const struct report *report)
{
	struct s3 *s3 = (struct s3 *)reporter;
	struct buf metadata = BUF_INIT(256 << 10), body = BUF_INIT(BODY_MAX);
	int err = 0;

	if (!s3->is_ready)
		err = s3_prepare(s3, report);
	if (err)
		return err;
	/* An upload in doubt needs the same name again. */
	if (!s3->doubtful_key[0] && (!report->begun || report->begun->doubt == DOUBT_NONE))
		origin_find_host(&s3->host, &s3->aws, s3->config->metadata, report);
	err = metadata_json(&metadata, report, s3->config, &s3->host, &s3->environment);
	if (!err)
		err = buf_reserve(&metadata, 1); /* for the NUL */
	if (!err)
		err = zip_report(&body, report, buf_string(&metadata));
	if (err == -EFBIG || err == -ENODATA) {
		log_error("a report of %" PRIu64 " bytes is not uploaded: %s",
			  report_length(report), strerror(-err));
		err = -EBADMSG;
	} else if (err) {
		s3_log_no_zip(s3, report, err);
	}
	if (!err)
		err = s3_put_report(s3, report, &body);
	buf_free(&metadata);
	buf_free(&body);
	return err;
}

static void s3_cancel(struct reporter *reporter)
{
	atomic_store(&((struct s3 *)reporter)->stop, true);
}

static void s3_close(struct reporter *reporter)
{
	struct s3 *s3 = (struct s3 *)reporter;

	if (s3->credentials)
		s3->credentials->destroy(s3->credentials);
	if (s3->aws.http)
		s3->aws.http->close(s3->aws.http);
	s3_target_free(&s3->target);
	host_free(&s3->host);
	aws_free(&s3->aws);
	free(s3->destination);
	free(s3);
}

int s3_reporter_open_with(struct reporter **out, const struct config *config,
			  char *const *environment, struct http *http, int64_t (*now)(void))
{
	struct s3 *s3 = calloc(1, sizeof(*s3));

	if (!s3)
		return -ENOMEM;
	s3->environment.entries = environment;
	s3->destination = s3_destination(config, &s3->environment);
	s3->reporter = (struct reporter){ .name = "s3",
					  .destination = s3->destination,
					  .deliver = s3_deliver,
					  .close = s3_close,
					  .cancel = s3_cancel };
	s3->config = config;
	s3->aws.http = http;
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

int s3_reporter_open(struct reporter **out, const struct config *config)
{
	return s3_reporter_open_with(out, config, environment_at_start(), NULL, aws_clock);
}
