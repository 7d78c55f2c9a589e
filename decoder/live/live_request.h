/* One request to a live endpoint, and its answer. */
#ifndef DECODER_LIVE_LIVE_REQUEST_H
#define DECODER_LIVE_LIVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"

/* An answer may be as large. */
#define LIVE_ANSWER_MAX ((size_t)256 << 20)

/* Ask process PID: METHOD and PATH, with BODY ("": none), and wait at most WAIT_NS beyond what an answer takes. The
 * answer's body is put into OUT. Returns 0 where its status is 200; else -errno after one line on stderr, which is
 * the endpoint's own where it has answered. QUIET: no line, but in OUT. */
int live_request_send(pid_t pid, const char *method, const char *path, const char *body,
		      uint64_t wait_ns, struct buf *out, bool quiet);

#endif
