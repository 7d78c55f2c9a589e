/* Requests to a bucket: sign, send, correct and retry. */
#include "upload/s3/s3_bucket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/show_url.h"
#include "upload/aws/sigv4.h"
#include "upload/files/untrusted.h"
#include "upload/http/url.h"
#include "upload/s3/s3_answer.h"
#include "upload/s3/s3_redirect.h"

#define CONNECT_MS      5000
#define WHOLE_MS        60000
#define QUESTION_MS     10000 /* no body in request and response */
#define SLOW_BYTES_A_MS 20    /* a slow connection gets more time for a large report */
#define REDIRECTS_MAX   4     /* limit of redirects, against loops */
#define LINE_MAX_BYTES  768

/* A request in progress: its current target, and the corrections so far. */
struct attempt {
	struct s3_bucket *bucket;
	const struct s3_request *request;
	struct s3_target to;
	unsigned int redirects;
	bool moved, is_permanent;
	unsigned int fixes_tried; /* a bit for each enum s3_mend */
	bool unconditional;
};

void s3_bucket_log_error(struct s3_bucket *bucket, const char *cause, const char *line)
{
	if (!strncmp(bucket->logged_cause, cause, sizeof(bucket->logged_cause) - 1))
		return;
	snprintf(bucket->logged_cause, sizeof(bucket->logged_cause), "%s", cause);
	log_error("no upload to the bucket %s: %s", bucket->config->s3_bucket, line);
}

void s3_bucket_log_recovery(struct s3_bucket *bucket)
{
	if (bucket->logged_cause[0])
		log_warn("uploads to the bucket %s work again", bucket->config->s3_bucket);
	bucket->logged_cause[0] = '\0';
}

static void attempt_log_refusal(const struct attempt *attempt, const struct http_response *response,
				const char *code, const char *words)
{
	char *message = http_xml_text(response, "Message");
	char cause[S3_CAUSE_MAX], line[LINE_MAX_BYTES], shown[SHOW_URL_SIZE];
	bool away = response->location[0];

	snprintf(cause, sizeof(cause), "%ld %s", response->status, code ? code : "");
	snprintf(line, sizeof(line), "%s answers %s%s%s%s%s%s%s", attempt->to.base, cause,
		 message ? ": " : "", message ? message : "", words ? "; " : "", words ? words : "",
		 away ? "; it names " : "", away ? show_url(shown, response->location) : "");
	s3_bucket_log_error(attempt->bucket, cause, line);
	free(message);
}

static void attempt_log_no_response(const struct attempt *attempt, int err,
				    const struct http_response *response)
{
	char cause[S3_CAUSE_MAX], line[LINE_MAX_BYTES];

	if (err == -ECANCELED)
		return;
	snprintf(cause, sizeof(cause), "error %d", -err);
	snprintf(line, sizeof(line), "%s: %s", attempt->to.base,
		 response->problem[0] ? response->problem : strerror(-err));
	s3_bucket_log_error(attempt->bucket, cause, line);
}

static int attempt_make_request(const struct attempt *attempt, struct http_request *out,
				const struct credentials *credentials)
{
	const struct s3_request *request = attempt->request;
	const struct config *config = attempt->bucket->config;
	struct sigv4 sign = { .credentials = credentials,
			      .region = attempt->to.region,
			      .service = "s3",
			      .now = aws_now(attempt->bucket->aws) };
	int err;

	if (request->body) {
		out->body = request->body->data;
		out->body_length = request->body->length;
		out->timeout_ms += request->body->length / SLOW_BYTES_A_MS;
	}
	out->timeout_ms += request->expected / SLOW_BYTES_A_MS;
	out->take = request->take;
	out->take_arg = request->take_arg;
	out->keep_connection = true;
	out->proxy = config->s3_proxy;
	err = buf_append_string(&out->url, attempt->to.base);
	if (!err)
		err = url_encode(&out->url, request->key, true);
	if (!err && request->query)
		err = buf_printf(&out->url, "?%s", request->query);
	if (!err && request->body)
		err = http_request_header(out, "content-type", "application/zip");
	if (!err && request->from)
		err = http_request_header(out, "range", "bytes=%" PRIu64 "-", request->from);
	if (!err && request->from)
		err = http_request_header(out, "if-match", "%s", request->etag);
	if (!err && request->body)
		err = http_request_header(out, "x-amz-meta-sha256", "%s", request->sha256);
	if (!err && config->s3_bucket_owner)
		err = http_request_header(out, "x-amz-expected-bucket-owner", "%s",
					  config->s3_bucket_owner);
	if (!err)
		err = sigv4_sign(out, &sign);
	/* Not signed, so that a proxy that drops the header does not invalidate the signature. */
	if (!err && request->body && !attempt->unconditional)
		err = http_request_header(out, "if-none-match", "*");
	return err;
}

static bool attempt_fix_clock(const struct attempt *attempt, const struct http_response *response)
{
	struct aws *aws = attempt->bucket->aws;

	if (!response->date)
		return false;
	aws->skew = response->date - aws->now();
	log_info("the clock is %" PRId64 " s %s the store's: corrected for uploads",
		 aws->skew < 0 ? -aws->skew : aws->skew, aws->skew < 0 ? "ahead of" : "behind");
	return true;
}

/* Follow the bucket to another region or host named by the response. A store with its own
 * endpoint may still require another region in the signature. */
static bool attempt_follow_bucket(struct attempt *attempt, const struct http_response *response)
{
	const struct config *config = attempt->bucket->config;
	char *in_body = http_xml_text(response, "Region"), *base = NULL;
	const char *region = response->region[0] ? response->region : in_body ? in_body : "";
	struct s3_target to = { 0 };
	bool other = untrusted_is_valid(UNTRUSTED_REGION, region) &&
		     strcmp(region, attempt->to.region) != 0;

	if (attempt->redirects++ >= REDIRECTS_MAX)
		goto out;
	if (other && !attempt->to.custom) {
		if (s3_target_in(&to, attempt->bucket->aws, config, region))
			goto out;
	} else {
		base = s3_redirect(attempt->to.base, config->s3_bucket, attempt->request->key,
				   response);
		if (base && !strcmp(base, attempt->to.base) && !other)
			goto out;
		if (!base && other)
			base = strdup(attempt->to.base);
		if (!base)
			goto out;
		to = attempt->to;
		to.base = base;
		base = NULL;
		if (other)
			snprintf(to.region, sizeof(to.region), "%s", region);
	}
	log_debug("the bucket %s is at %s, region %s", config->s3_bucket, to.base, to.region);
	/* 307 is valid for this request only. */
	attempt->is_permanent =
		response->status != 307 && (attempt->is_permanent || !attempt->moved);
	if (attempt->moved)
		free(attempt->to.base);
	attempt->to = to;
	attempt->moved = true;
	free(in_body);
	return true;
out:
	free(base);
	free(in_body);
	return false;
}

/* Returns true if an immediate retry may succeed. */
static bool attempt_fix(struct attempt *attempt, enum s3_mend what,
			const struct http_response *response)
{
	bool first = !(attempt->fixes_tried & 1u << what);

	attempt->fixes_tried |= 1u << what;
	switch (what) {
	case S3_MEND_CLOCK:
		return first && attempt_fix_clock(attempt, response);
	case S3_MEND_CREDENTIALS:
		if (first)
			credentials_forget(attempt->bucket->credentials);
		return first;
	case S3_MEND_CONDITION:
		if (attempt_follow_bucket(attempt, response))
			return true;
		first = first && !attempt->unconditional && attempt->request->body;
		attempt->unconditional = true;
		return first;
	case S3_MEND_NOTHING:
		break;
	}
	return attempt_follow_bucket(attempt, response);
}

/* Send the request once. *AGAIN is true after a correction. */
static int attempt_send(struct attempt *attempt, struct http_response *response, bool *in_doubt,
			bool *again)
{
	bool is_question =
		!attempt->request->body && !attempt->request->answer_max && !attempt->request->take;
	struct http_request request = HTTP_REQUEST_INIT(attempt->request->method, CONNECT_MS,
							is_question ? QUESTION_MS : WHOLE_MS);
	struct credentials_provider *provider = attempt->bucket->credentials;
	struct credentials credentials = { 0 };
	bool loud = attempt->request->body;
	struct s3_verdict verdict;
	char *code = NULL;
	int err;

	http_response_free(response);
	*response = (struct http_response)HTTP_RESPONSE_INIT;
	if (attempt->request->answer_max)
		response->body.max = attempt->request->answer_max;
	*again = *in_doubt = false;
	err = provider->get(provider, &credentials);
	if (err) {
		/* Logged by the provider. Missing credentials are not a refusal by the store. */
		err = err == -EACCES || err == -EBADMSG ? -EAGAIN : err;
		goto out;
	}
	err = attempt_make_request(attempt, &request, &credentials);
	if (!err) {
		err = attempt->bucket->aws->http->send(attempt->bucket->aws->http, &request,
						       response);
		/* Without a connection the store cannot have received the request. */
		*in_doubt = err && err != -ECONNREFUSED && err != -EHOSTUNREACH && err != -EPROTO;
	}
	if (err) {
		response->status = 0;
		if (loud)
			attempt_log_no_response(attempt, err, response);
		goto out;
	}
	code = http_xml_text(response, "Code");
	verdict = s3_judge(response->status, code);
	err = verdict.err;
	/* A gateway may not know whether the store has the report. A busy store knows it and
	 * sends an error code. The request may also have been sent before, over a connection
	 * that ended. */
	*in_doubt = response->status == 500 || response->status == 502 || response->status == 504 ||
		    (response->status == 503 && !code) || (err && response->unanswered);
	if (err)
		*again = attempt_fix(attempt, verdict.mend, response);
	if (err && !*again && err != -EEXIST && loud)
		attempt_log_refusal(attempt, response, code, verdict.words);
out:
	free(code);
	credentials_clear(&credentials);
	http_request_free(&request);
	return err;
}

/* Keep a target that worked. After a failure, return to the target of the settings. */
static void s3_bucket_learn(struct s3_bucket *bucket, struct attempt *attempt, bool good)
{
	char problem[S3_TARGET_PROBLEM_SIZE];
	struct s3_target found;

	if (good && attempt->unconditional && !bucket->unconditional) {
		log_info("the store does not support if-none-match");
		bucket->unconditional = true;
	}
	if (good && attempt->moved && attempt->is_permanent) {
		s3_target_free(bucket->target);
		*bucket->target = attempt->to;
		bucket->moved = true;
		attempt->moved = false;
	} else if (!good && bucket->moved &&
		   !s3_target_find(&found, bucket->aws, bucket->config, problem)) {
		if (!attempt->moved)
			attempt->to = found;
		s3_target_free(bucket->target);
		*bucket->target = found;
		bucket->moved = false;
	}
	if (attempt->moved)
		free(attempt->to.base);
}

int s3_bucket_ask(struct s3_bucket *bucket, const struct s3_request *request,
		  struct http_response *response, bool *in_doubt)
{
	struct attempt attempt = { .bucket = bucket,
				   .request = request,
				   .to = *bucket->target,
				   .unconditional = bucket->unconditional };
	bool again = true;
	int err = 0;

	while (again)
		err = attempt_send(&attempt, response, in_doubt, &again);
	s3_bucket_learn(bucket, &attempt,
			!err || err == -EEXIST || (!request->body && response->status == 404));
	return err;
}
