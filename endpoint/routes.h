/* What there is to ask for, and what is answered. */
#ifndef ENDPOINT_ROUTES_H
#define ENDPOINT_ROUTES_H

#include <stdint.h>

#include "core/agent/live.h"
#include "endpoint/profile_output.h"
#include "endpoint/request.h"
#include "endpoint/response.h"

/* A recording may be asked for of so many seconds. */
#define ROUTES_SECONDS_MAX 3600

/* One request on its way. Start with EXCHANGE_INIT. */
struct visit {
	struct live *live;
	const char *token; /* what must be presented; NULL: nothing */
	bool is_tcp;       /* anybody who reaches the address may ask */

	/* Of a recording that is being taken. */
	int fd; /* -1: none */
	const char *type;
	struct profile_wish wish;
	uint64_t threads_until_ns; /* monotonic: how long threads are waited for; 0: none are */
};

#define EXCHANGE_INIT    \
	{                \
		.fd = -1 \
	}

/* Answer REQUEST in RESPONSE. Returns 0 where that is all, or in how many nanoseconds routes_resume() is to be
 * called, which answers then, or returns
 * likewise when it is to be called again. */
uint64_t routes_handle(struct visit *visit, const struct request *request,
		       struct response *response);
uint64_t routes_resume(struct visit *visit, struct response *response);

/* The peer has gone away, or the endpoint ends: forget what is being recorded. */
void routes_cancel(struct visit *visit);

#endif
