/* What the reporters share that send a report, added up, to a server by HTTP: which pieces it is sent in, what
 * an answer means, and what is said of it. */
#ifndef UPLOAD_PUSH_PUSH_H
#define UPLOAD_PUSH_PUSH_H

#include <stdatomic.h>

#include "core/agent/report.h"
#include "core/options/config.h"
#include "upload/aws/aws.h"
#include "upload/aws/host.h"
#include "upload/http/http.h"
#include "upload/push/identity.h"
#include "upload/push/report_profile.h"

/* A part of a report, and all that is to be known to make a request of it. */
struct push_piece {
	const struct report *report;
	const struct profile *profile;
	const struct libraries *libraries;
	const struct identity *identity;
	unsigned int kind;
	uint32_t from, to; /* of profile->samples, TO itself not */
};

/* When PIECE begins, in nanoseconds since 1970. Pyroscope has one profile of a series and a time, by whichever protocol: storage before
 * release 2 answers with one of a millisecond, and later releases keep one of a nanosecond when they compact. So the parts of a
 * report lie side by side in its time, and what is too near for that, or of another process with the same labels,
 * differs in the nanoseconds. A part that is sent again is where it was, and counts once in the end. */
int64_t push_start_ns(const struct push_piece *piece);

/* How one server wants it. */
struct push_form {
	const char *name;    /* the reporter's */
	bool threads;        /* samples of each thread stay apart */
	unsigned int kinds;  /* requests for one report at least */
	bool decode_headers; /* their values are percent-encoded */
	bool is_500_final;   /* what fails within the server (500) may not be tried again */

	/* Add to REQUEST, whose URL is the server's base, what PIECE goes to, and its BODY, which is kept
	 * until it is sent. Returns 0; -ENODATA where the piece is empty; or -errno, -EFBIG for a body past its
	 * cap. */
	int (*make)(const struct push_piece *piece, struct http_request *request, struct buf *body);

	/* What the server took may hold a word of what it did not: put words for it in OUT and return
	 * true. NULL: there is none. */
	bool (*complains)(const struct http_response *response, char *out, size_t size);

	/* Whether an answer of 422 is about this report, and not about how the server is. NULL: always. */
	bool (*is_final)(struct http_response *response);

	/* Whether an answer of 400 says what 413 does: that it was too much at once. NULL: never. */
	bool (*is_too_large)(struct http_response *response);
};

struct push_settings {
	const char *url;     /* the server's base */
	const char *headers; /* "key=value,…"; NULL: none */
};

/* Make a reporter for FORM. CONFIG and what SETTINGS points to must outlive it. Nobody is asked before the
 * first deliver(), whose thread must have every signal blocked. deliver() returns what
 * push_judge() makes of the answer, -EBADMSG where nothing of the report can be sent, or another -errno where the
 * next try may do. A report that takes several requests goes on with the first that was not taken, in another process too where
 * report->begun says which that is. What may have been taken without a word of it is sent again, and counted.
 *
 * Returns 0 and sets *OUT (release with its close), or -errno, -EINVAL after a line in the log where the URL is
 * no base of others. */
int push_open(struct reporter **out, const struct push_form *form,
	      const struct push_settings *settings, const struct config *config);

/* Copy what ENVIRONMENT tells, for the reporters to be opened: for a constructor. Returns 0 or -ENOMEM. */
int push_capture_environment(char *const *environment);

/* For tests: send by HTTP (owned), with ENVIRONMENT and NOW as the clock, in seconds since 1970. */
int push_open_with(struct reporter **out, const struct push_form *form,
		   const struct push_settings *settings, const struct config *config,
		   char *const *environment, struct http *http, int64_t (*now)(void));

/* What an answer's STATUS means: 0, taken; -EAGAIN, later it may be; -EFBIG, too much at once; -EACCES, refused as
 * the next would be, until somebody mends it there; -EBADMSG, never. ONLY_TOLD as in the form. */
int push_judge(long status, bool is_500_final);

#endif
