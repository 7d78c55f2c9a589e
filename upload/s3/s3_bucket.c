/* Requests to a bucket: signed, sent, and mended where that is possible. */
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
#define QUESTION_MS     10000 /* without a body, nor one in the answer */
#define SLOW_BYTES_A_MS 20    /* a slow line gets more time for a large report */
#define REDIRECTS_MAX   4     /* a bucket that is sent from place to place is nowhere */
#define LINE_MAX_BYTES  768

/* A request on its way: where it goes by now, and what was mended. */
struct way {
	struct s3_bucket *bucket;
	const struct s3_request *request;
	struct s3_target to;
	unsigned int moves;
	bool moved, for_good;
	unsigned int fixes_tried; /* a bit for each enum s3_mend */
	bool unconditional;
};

void s3_bucket_log_error(struct s3_bucket *bucket, const char *cause, const char *line)
{
	if (!strncmp(bucket->said, cause, sizeof(bucket->said) - 1))
		return;
	snprintf(bucket->said, sizeof(bucket->said), "%s", cause);
	log_error("no upload to the bucket %s: %s", bucket->config->s3_bucket, line);
}

void s3_bucket_log_recovery(struct s3_bucket *bucket)
{
	if (bucket->said[0])
		log_warn("uploads to the bucket %s work again", bucket->config->s3_bucket);
	bucket->said[0] = '\0';
}

static void attempt_log_refusal(const struct way *way, const struct http_response *response,
				const char *code, const char *words)
{
	char *message = http_xml_text(response, "Message");
	char cause[S3_CAUSE_MAX], line[LINE_MAX_BYTES], shown[SHOW_URL_SIZE];
	bool away = response->location[0];

	snprintf(cause, sizeof(cause), "%ld %s", response->status, code ? code : "");
	snprintf(line, sizeof(line), "%s answers %s%s%s%s%s%s%s", way->to.base, cause,
		 message ? ": " : "", message ? message : "", words ? "; " : "", words ? words : "",
		 away ? "; it names " : "", away ? show_url(shown, response->location) : "");
	s3_bucket_log_error(way->bucket, cause, line);
	free(message);
}

static void attempt_log_no_response(const struct way *way, int err,
				    const struct http_response *response)
{
	char cause[S3_CAUSE_MAX], line[LINE_MAX_BYTES];

	if (err == -ECANCELED)
		return;
	snprintf(cause, sizeof(cause), "error %d", -err);
	snprintf(line, sizeof(line), "%s: %s", way->to.base,
		 response->problem[0] ? response->problem : strerror(-err));
	s3_bucket_log_error(way->bucket, cause, line);
}

static int attempt_make_request(const struct way *way, struct http_request *out,
				const struct credentials *credentials)
{
	const struct s3_request *request = way->request;
	const struct config *config = way->bucket->config;
	struct sigv4 sign = { .credentials = credentials,
			      .region = way->to.region,
			      .service = "s3",
			      .now = aws_now(way->bucket->aws) };
	int err;

	if (request->body) {
		out->body = request->body->data;
		out->body_length = request->body->length;
		out->timeout_ms += request->body->length / SLOW_BYTES_A_MS;
	}
	out->timeout_ms += request->expected / SLOW_BYTES_A_MS;
	out->take = request->take;
	out->take_arg = request->take_arg;
	out->keep = true;
	out->proxy = config->s3_proxy;
	err = buf_append_string(&out->url, way->to.base);
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
	/* Not signed: who stands between and drops it must not spoil the rest. */
	if (!err && request->body && !way->unconditional)
		err = http_request_header(out, "if-none-match", "*");
	return err;
}

static bool attempt_fix_clock(const struct way *way, const struct http_response *response)
{
	struct aws *aws = way->bucket->aws;

	if (!response->date)
		return false;
	aws->skew = response->date - aws->now();
	log_info("the clock is %" PRId64 " s %s the store's: mended for uploads",
		 aws->skew < 0 ? -aws->skew : aws->skew, aws->skew < 0 ? "ahead of" : "behind");
	return true;
}

/* The bucket lies elsewhere, and the answer tells where: another region, another host, or both. With
 * an endpoint of its own a store may still want another region in the signature. */
static bool attempt_follow_bucket(struct way *way, const struct http_response *response)
{
	const struct config *config = way->bucket->config;
	char *in_body = http_xml_text(response, "Region"), *base = NULL;
	const char *region = response->region[0] ? response->region : in_body ? in_body : "";
	struct s3_target to = { 0 };
	bool other =
		untrusted_is_valid(UNTRUSTED_REGION, region) && strcmp(region, way->to.region) != 0;

	if (way->moves++ >= REDIRECTS_MAX)
		goto out;
	if (other && !way->to.custom) {
		if (s3_target_in(&to, way->bucket->aws, config, region))
			goto out;
	} else {
		base = s3_redirect(way->to.base, config->s3_bucket, way->request->key, response);
		if (base && !strcmp(base, way->to.base) && !other)
			goto out;
		if (!base && other)
			base = strdup(way->to.base);
		if (!base)
			goto out;
		to = way->to;
		to.base = base;
		base = NULL;
		if (other)
			snprintf(to.region, sizeof(to.region), "%s", region);
	}
	log_debug("the bucket %s lies at %s, in %s", config->s3_bucket, to.base, to.region);
	/* 307 is for this request alone. */
	way->for_good = response->status != 307 && (way->for_good || !way->moved);
	if (way->moved)
		free(way->to.base);
	way->to = to;
	way->moved = true;
	free(in_body);
	return true;
out:
	free(base);
	free(in_body);
	return false;
}

/* True where another try at once may do. */
static bool mend(struct way *way, enum s3_mend what, const struct http_response *response)
{
	bool first = !(way->fixes_tried & 1u << what);

	way->fixes_tried |= 1u << what;
	switch (what) {
	case S3_MEND_CLOCK:
		return first && attempt_fix_clock(way, response);
	case S3_MEND_CREDENTIALS:
		if (first)
			credentials_forget(way->bucket->credentials);
		return first;
	case S3_MEND_CONDITION:
		if (attempt_follow_bucket(way, response))
			return true;
		first = first && !way->unconditional && way->request->body;
		way->unconditional = true;
		return first;
	case S3_MEND_NOTHING:
		break;
	}
	return attempt_follow_bucket(way, response);
}

/* One request. *AGAIN where a mend was made. */
static int bucket_request_once(struct way *way, struct http_response *response, bool *in_doubt,
			       bool *again)
{
	bool is_question = !way->request->body && !way->request->answer_max && !way->request->take;
	struct http_request request = HTTP_REQUEST_INIT(way->request->method, CONNECT_MS,
							is_question ? QUESTION_MS : WHOLE_MS);
	struct credentials_provider *provider = way->bucket->credentials;
	struct credentials credentials = { 0 };
	bool loud = way->request->body;
	struct s3_verdict verdict;
	char *code = NULL;
	int err;

	http_response_free(response);
	*response = (struct http_response)HTTP_RESPONSE_INIT;
	if (way->request->answer_max)
		response->body.max = way->request->answer_max;
	*again = *in_doubt = false;
	err = provider->get(provider, &credentials);
	if (err) {
		/* Said by the provider. That no keys are to be had is not the store's refusal. */
		err = err == -EACCES || err == -EBADMSG ? -EAGAIN : err;
		goto out;
	}
	err = attempt_make_request(way, &request, &credentials);
	if (!err) {
		err = way->bucket->aws->http->send(way->bucket->aws->http, &request, response);
		/* Nobody can have got it where there was no connection. */
		*in_doubt = err && err != -ECONNREFUSED && err != -EHOSTUNREACH && err != -EPROTO;
	}
	if (err) {
		response->status = 0;
		if (loud)
			attempt_log_no_response(way, err, response);
		goto out;
	}
	code = http_xml_text(response, "Code");
	verdict = s3_judge(response->status, code);
	err = verdict.err;
	/* What stands before a store may not know; a store that is too busy (503) does. */
	*in_doubt = response->status == 500 || response->status == 502 || response->status == 504;
	if (err)
		*again = mend(way, verdict.mend, response);
	if (err && !*again && err != -EEXIST && loud)
		attempt_log_refusal(way, response, code, verdict.words);
out:
	free(code);
	credentials_clear(&credentials);
	http_request_free(&request);
	return err;
}

/* What was learned on the WAY, where it led to something; where it did not, what was learned before
 * is no longer to be trusted. */
static void s3_bucket_learn(struct s3_bucket *bucket, struct way *way, bool good)
{
	char problem[S3_TARGET_PROBLEM_SIZE];
	struct s3_target found;

	if (good && way->unconditional && !bucket->unconditional) {
		log_info("the store does not know if-none-match");
		bucket->unconditional = true;
	}
	if (good && way->moved && way->for_good) {
		s3_target_free(bucket->target);
		*bucket->target = way->to;
		bucket->moved = true;
		way->moved = false;
	} else if (!good && bucket->moved &&
		   !s3_target_find(&found, bucket->aws, bucket->config, problem)) {
		if (!way->moved)
			way->to = found;
		s3_target_free(bucket->target);
		*bucket->target = found;
		bucket->moved = false;
	}
	if (way->moved)
		free(way->to.base);
}

int s3_bucket_ask(struct s3_bucket *bucket, const struct s3_request *request,
		  struct http_response *response, bool *in_doubt)
{
	struct way way = { .bucket = bucket,
			   .request = request,
			   .to = *bucket->target,
			   .unconditional = bucket->unconditional };
	bool again = true;
	int err = 0;

	while (again)
		err = bucket_request_once(&way, response, in_doubt, &again);
	s3_bucket_learn(bucket, &way,
			!err || err == -EEXIST || (!request->body && response->status == 404));
	return err;
}
