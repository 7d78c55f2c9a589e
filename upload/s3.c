/* The S3 reporter: each report is a zip file in a bucket. */
#include "upload/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "upload/credentials.h"
#include "upload/http_curl.h"
#include "upload/metadata.h"
#include "upload/origin.h"
#include "upload/outside.h"
#include "upload/s3_answer.h"
#include "upload/s3_target.h"
#include "upload/sigv4.h"
#include "upload/url.h"
#include "upload/zip.h"

#define BODY_MAX        (1u << 30)
#define KEY_MAX         (1024 + 1) /* that of S3, and a NUL */
#define CONNECT_MS      5000
#define WHOLE_MS        60000
#define SLOW_BYTES_A_MS 20 /* a slow line gets more time for a large report */
#define TRIES           4  /* one, and one after each mend: clock, credentials, region */
#define CAUSE_MAX       80
#define LINE_MAX_BYTES  512

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
	char said[CAUSE_MAX]; /* the failure that was said last; "" after a success */
	atomic_bool stop;
};

/* CAUSE tells one failure from another; the same is said once, until it is gone. */
static void say(struct s3 *s3, const char *cause, const char *line)
{
	if (!strncmp(s3->said, cause, sizeof(s3->said) - 1))
		return;
	snprintf(s3->said, sizeof(s3->said), "%s", cause);
	log_error("no upload to the bucket %s: %s", s3->config->s3_bucket, line);
}

static void say_good(struct s3 *s3)
{
	if (s3->said[0])
		log_warn("uploads to the bucket %s work again", s3->config->s3_bucket);
	s3->said[0] = '\0';
}

static void say_refusal(struct s3 *s3, const struct http_response *response, const char *code,
			const char *words)
{
	char *message = http_xml_text(response, "Message");
	char cause[CAUSE_MAX], line[LINE_MAX_BYTES];

	snprintf(cause, sizeof(cause), "%ld %s", response->status, code ? code : "");
	snprintf(line, sizeof(line), "%s answers %s%s%s%s%s", s3->target.base, cause,
		 message ? ": " : "", message ? message : "", words ? "; " : "",
		 words ? words : "");
	say(s3, cause, line);
	free(message);
}

static void say_silence(struct s3 *s3, int err, const struct http_response *response)
{
	char cause[CAUSE_MAX], line[LINE_MAX_BYTES];

	if (err == -ECANCELED)
		return;
	snprintf(cause, sizeof(cause), "error %d", -err);
	snprintf(line, sizeof(line), "%s: %s", s3->target.base,
		 response->problem[0] ? response->problem : strerror(-err));
	say(s3, cause, line);
}

static int make_request(struct s3 *s3, struct http_request *request, const char *key,
			const struct buf *body, const struct credentials *credentials)
{
	struct sigv4 sign = { .credentials = credentials,
			      .region = s3->target.region,
			      .service = "s3",
			      .now = aws_now(&s3->aws) };
	int err;

	request->body = body->data;
	request->body_length = body->length;
	request->timeout_ms += body->length / SLOW_BYTES_A_MS;
	request->keep = true;
	request->proxy = s3->config->s3_proxy;
	err = buf_append_string(&request->url, s3->target.base);
	if (!err)
		err = url_encode(&request->url, key, true);
	if (!err)
		err = http_request_header(request, "content-type", "application/zip");
	if (!err && s3->config->s3_bucket_owner)
		err = http_request_header(request, "x-amz-expected-bucket-owner", "%s",
					  s3->config->s3_bucket_owner);
	return err ? err : sigv4_sign(request, &sign);
}

/* True where another try at once may do. */
static bool mend(struct s3 *s3, enum s3_mend what, const struct http_response *response)
{
	switch (what) {
	case S3_MEND_CLOCK:
		if (!response->date)
			return false;
		s3->aws.skew = response->date - s3->aws.now();
		log_info("the clock is %" PRId64 " s %s the store's: mended for uploads",
			 s3->aws.skew < 0 ? -s3->aws.skew : s3->aws.skew,
			 s3->aws.skew < 0 ? "ahead of" : "behind");
		return true;
	case S3_MEND_CREDENTIALS:
		credentials_cache_forget(s3->credentials);
		return true;
	case S3_MEND_NOTHING:
		break;
	}
	return false;
}

/* The bucket lies elsewhere, and the answer tells where. Only Amazon has regions that matter. */
static bool mend_region(struct s3 *s3, const struct http_response *response)
{
	const char *configured = s3->aws.region;
	char problem[S3_TARGET_PROBLEM_SIZE], *region;
	struct s3_target target;

	if (s3->config->s3_endpoint || !response->region[0] ||
	    !outside_fits(OUTSIDE_REGION, response->region) ||
	    !strcmp(response->region, s3->target.region))
		return false;
	region = strdup(response->region);
	if (!region)
		return false;
	s3->aws.region = region;
	if (s3_target_find(&target, &s3->aws, s3->config, problem)) {
		s3->aws.region = configured;
		free(region);
		return false;
	}
	log_info("the bucket %s lies in %s", s3->config->s3_bucket, region);
	s3_target_free(&s3->target);
	s3->target = target;
	free(s3->aws.found_region);
	s3->aws.found_region = region;
	return true;
}

/* One request. *AGAIN where a mend was made. */
static int put_once(struct s3 *s3, const char *key, const struct buf *body, unsigned int *mended,
		    bool *again)
{
	struct http_request request = HTTP_REQUEST_INIT("PUT", CONNECT_MS, WHOLE_MS);
	struct http_response response = HTTP_RESPONSE_INIT;
	struct credentials credentials = { 0 };
	struct s3_verdict verdict;
	char *code = NULL;
	int err;

	*again = false;
	err = s3->credentials->get(s3->credentials, &credentials);
	if (err) {
		/* Said by the provider. That no keys are to be had is not the store's refusal. */
		err = err == -EACCES || err == -EBADMSG ? -EAGAIN : err;
		goto out;
	}
	err = make_request(s3, &request, key, body, &credentials);
	if (!err)
		err = s3->http->send(s3->http, &request, &response);
	if (err) {
		say_silence(s3, err, &response);
		goto out;
	}
	code = http_xml_text(&response, "Code");
	verdict = s3_judge(response.status, code);
	err = verdict.err;
	if (!err)
		goto out;
	if (!(*mended & 1u << verdict.mend))
		*again = verdict.mend ? mend(s3, verdict.mend, &response)
				      : mend_region(s3, &response);
	*mended |= 1u << verdict.mend;
	if (!*again)
		say_refusal(s3, &response, code, verdict.words);
out:
	free(code);
	credentials_clear(&credentials);
	http_response_free(&response);
	http_request_free(&request);
	return err;
}

static int put(struct s3 *s3, const char *key, const struct buf *body)
{
	unsigned int mended = 0;
	bool again = true;
	int err = 0;

	for (int i = 0; i < TRIES && again; i++)
		err = put_once(s3, key, body, &mended, &again);
	if (err)
		return err;
	say_good(s3);
	log_debug("put %s%s, %zu bytes", s3->target.base, key, body->length);
	return 0;
}

/* What takes asking others is done here, on the thread that may wait. */
static int get_ready(struct s3 *s3)
{
	char *ca = NULL, problem[S3_TARGET_PROBLEM_SIZE] = "";
	int err = 0;

	if (!s3->http) {
		ca = aws_setting(&s3->aws, "AWS_CA_BUNDLE", "ca_bundle");
		if (!ca && environment_get(&s3->environment, "SSL_CERT_FILE"))
			ca = strdup(environment_get(&s3->environment, "SSL_CERT_FILE"));
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
		say(s3, problem, problem);
	s3->ready = !err;
	return err;
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	struct s3 *s3 = (struct s3 *)reporter;
	struct buf key = BUF_INIT(KEY_MAX), metadata = BUF_INIT(256 << 10),
		   body = BUF_INIT(BODY_MAX);
	int err = 0;

	if (!s3->ready)
		err = get_ready(s3);
	if (err)
		return err;
	err = s3_key(&key, s3->config, report, &s3->host);
	if (!err)
		err = metadata_json(&metadata, report, s3->config, &s3->host, &s3->environment);
	if (!err && !(buf_string(&metadata) && buf_string(&key)))
		err = -EFBIG;
	if (!err)
		err = zip_report(&body, report, buf_string(&metadata));
	if (err == -EFBIG || err == -ENODATA) {
		log_error("a report of %" PRIu64 " bytes is not uploaded: %s",
			  report_length(report), strerror(-err));
		err = -EBADMSG;
	}
	if (!err)
		err = put(s3, buf_string(&key), &body);
	buf_free(&key);
	buf_free(&metadata);
	buf_free(&body);
	return err;
}

static void cancel(struct reporter *reporter)
{
	atomic_store(&((struct s3 *)reporter)->stop, true);
}

static void close_s3(struct reporter *reporter)
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

static int64_t now_seconds(void)
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
					  .close = close_s3,
					  .cancel = cancel };
	s3->config = config;
	s3->http = http;
	s3->aws.environment = &s3->environment;
	s3->aws.now = now;
	s3->aws.region = config->s3_region;
	s3->aws.stop = &s3->stop;
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
				     NULL, now_seconds);
}
