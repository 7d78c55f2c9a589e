/* HTTP requests to live endpoints. */
#ifndef DECODER_LIVE_LIVE_REQUEST_H
#define DECODER_LIVE_LIVE_REQUEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"

/* Limits of an answer, and of the answer to /status. */
#define LIVE_ANSWER_MAX ((size_t)256 << 20)
#define LIVE_STATUS_MAX ((size_t)1 << 18)

struct live_request {
	pid_t pid;
	const char *method, *path;
	const char *body; /* "": none */
	const char *
		read_path; /* to GET, after a message, if a POST needs a token and there is none; NULL: none */
	uint64_t wait_ns;      /* added to the usual timeout */
	bool captures_problem; /* errors are stored in OUT, not printed */
	bool is_scan; /* the user did not name this process: no token is sent, and the timeout is shorter */
};

/* Send REQUEST and append the answer's body to OUT, at most OUT->max bytes. The body is not trusted. One
 * deadline covers connecting, sending and receiving. Returns 0 for status 200; else -errno after a message,
 * which is the endpoint's own if it has answered. Thread-safe. */
int live_request_send(const struct live_request *request, struct buf *out);

/* Returns the string KEY of OBJECT, a part of an answer; "" if it has none. */
const char *live_json_text(const cJSON *object, const char *key);

#endif
