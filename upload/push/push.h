/* Common part of the reporters that aggregate a report and send it to a server by HTTP. It
 * splits the report into pieces, interprets responses and logs failures. */
#ifndef UPLOAD_PUSH_PUSH_H
#define UPLOAD_PUSH_PUSH_H

#include "core/agent/report.h"
#include "core/options/config.h"
#include "upload/aws/aws.h"
#include "upload/aws/host.h"
#include "upload/http/http.h"
#include "upload/push/identity.h"
#include "upload/push/report_profile.h"

/* A part of a report, with everything needed to make a request. */
struct push_piece {
	const struct report *report;
	const struct profile *profile;
	const struct libraries *libraries;
	const struct identity *identity;
	unsigned int kind;
	uint32_t from, to; /* range in profile->samples; TO is exclusive */
};

/* Start time of PIECE, in nanoseconds since 1970.
 *
 * Pyroscope stores one profile for each series and time, whatever the protocol. Storage before
 * release 2 keeps one for a millisecond; later releases keep one for a nanosecond when they
 * compact. So the pieces of a report get consecutive times within its interval. Pieces too close
 * for that, or of another process with the same labels, differ in the nanoseconds. A piece that
 * is sent again has the same time, and counts once in the end. */
int64_t push_start_ns(const struct push_piece *piece);

/* Protocol of one server. */
struct push_form {
	const char *name;    /* of the reporter */
	bool threads;        /* keep the samples of each thread apart */
	unsigned int kinds;  /* least number of requests for one report */
	bool decode_headers; /* header values are percent-encoded */
	bool is_500_final;   /* a server error (500) must not be retried */

	/* Complete REQUEST, whose URL is the server's base, and make its BODY for PIECE. The
	 * caller keeps BODY until it is sent. Returns 0; -ENODATA if the piece is empty; -EFBIG
	 * if the body exceeds its cap; or another -errno. */
	int (*make)(const struct push_piece *piece, struct http_request *request, struct buf *body);

	/* Path of a message below the server's base, and its content type. */
	const char *path, *content_type;

	/* True if a successful response reports rejected data; OUT is then the text. NULL:
	 * never. */
	bool (*complains)(const struct http_response *response, char *out, size_t size);

	/* True if a 422 response concerns this report rather than the server's state. NULL:
	 * always. */
	bool (*is_final)(struct http_response *response);

	/* True if a 400 response means the same as 413: the request is too large. NULL: never. */
	bool (*is_too_large)(struct http_response *response);
};

struct push_settings {
	const char *url;     /* the server's base */
	const char *headers; /* "key=value,…"; NULL: none */
};

/* Open a reporter for FORM. CONFIG and the strings of SETTINGS must outlive it. The first
 * network access is in the first deliver(), whose thread must block all signals.
 *
 * deliver() returns the result of push_judge() for the response. It returns -EBADMSG if the
 * report contains nothing to send, or another -errno if a retry may succeed. A report that takes
 * several requests continues with the first that was not accepted. Another process continues
 * there too, by report->begun. A request without a response is sent again, and counted in
 * maybe_twice if accepted.
 *
 * Returns 0 and sets *OUT (release with its close), or -errno: -EINVAL, logged, if the URL is
 * not a base URL. */
int push_open(struct reporter **out, const struct push_form *form,
	      const struct push_settings *settings, const struct config *config);

/* For tests: send with HTTP (owned), use ENVIRONMENT, which outlives it, and NOW as the clock, in seconds since
 * 1970. */
int push_open_with(struct reporter **out, const struct push_form *form,
		   const struct push_settings *settings, const struct config *config,
		   char *const *environment, struct http *http, int64_t (*now)(void));

/* Test the server of SETTINGS with a message without a profile. Returns 0 and the response in
 * RESPONSE, without retries. Returns -EINVAL or -E2BIG if the headers cannot be sent, or the
 * result of http->send(). */
int push_probe(const struct push_form *form, const struct push_settings *settings,
	       struct http *http, struct http_response *response);

/* Meaning of a response's STATUS. 0: accepted. -EAGAIN: retry later. -EFBIG: too large. -EACCES:
 * refused, like later messages, until an operator corrects the cause. -EBADMSG: can never be
 * accepted. ONLY_TOLD as in struct push_form. */
int push_judge(long status, bool is_500_final);

#endif
