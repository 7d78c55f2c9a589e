/* Routes of the live endpoint: the table of paths, and their handlers. Endpoint's thread only. */
#ifndef ENDPOINT_ROUTES_H
#define ENDPOINT_ROUTES_H

#include <stdint.h>

#include "core/agent/live.h"
#include "endpoint/profile_output.h"
#include "endpoint/request.h"
#include "endpoint/response.h"

/* Maximum duration of a requested recording. */
#define ROUTES_SECONDS_MAX 3600

/* State of a request from its first byte to its response. Start with EXCHANGE_INIT. */
struct exchange {
	struct live *live;
	const char *token; /* required from TCP clients; NULL: not configured, so POST is refused */
	bool is_tcp;       /* the client's user is unknown */

	/* State of a recording. */
	int fd;           /* -1: none */
	const char *type; /* Content-Type of the response */
	struct profile_options options;
	uint64_t from_ns, until_ns; /* of the recording; monotonic */
	uint64_t
		threads_until_ns; /* deadline of the threads' samples; monotonic; 0: not requested */
	_Atomic bool is_full;     /* the recording has reached its size limit */
};

#define EXCHANGE_INIT    \
	{                \
		.fd = -1 \
	}

/* Handle REQUEST. Returns 0 when RESPONSE is complete. Otherwise the request waits for its recording: call
 * routes_resume() after the returned number of nanoseconds. */
uint64_t routes_handle(struct exchange *exchange, const struct request *request,
		       struct response *response);

/* Continue a waiting request. Returns 0 when RESPONSE is complete, or the time until the next call in nanoseconds. */
uint64_t routes_resume(struct exchange *exchange, struct response *response);

/* Discard the recording, if there is one. Called when a connection closes. */
void routes_cancel(struct exchange *exchange);

#endif
