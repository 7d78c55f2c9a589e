/* Deliveries: each reporter has a lane, a thread that takes what waits for it out of the stores and
 * tries until it is delivered or given up. For the queue alone. */
#ifndef UPLOAD_QUEUE_DELIVERY_H
#define UPLOAD_QUEUE_DELIVERY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "upload/queue/store.h"

struct lane {
	struct lanes *lanes;
	struct reporter *reporter;
	unsigned int bit;      /* in a report's pending */
	unsigned int failures; /* in a row */
	uint64_t next_ns;      /* no try before */
	bool running;          /* has a thread */
	bool busy;             /* in the reporter */
	bool empty;            /* found nothing for it since the last put or try of any lane */
	bool tried;            /* failed since draining began */
	bool refused;          /* so: nothing that is tried again in a second or two will do */
};

struct lanes {
	pthread_mutex_t lock;     /* held for all of this and the stores, but not in a reporter */
	_Atomic uint32_t changes; /* of anything here; a futex for those who wait */
	struct store *stores[2];  /* the spool, where there is one, and memory */
	size_t store_count;
	struct lane lane[STORE_REPORTERS_MAX];
	size_t count;
	struct report_losses losses; /* aged, refused and their bytes */
	bool draining;               /* failures are tried again soon */
	bool closing;                /* threads end */
};

/* Start with LANES zeroed; free closes the stores, when no thread runs. */
void lanes_init(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

/* A lane for REPORTER, without a thread; STORE_REPORTERS_MAX at most. */
void lanes_add(struct lanes *lanes, struct reporter *reporter);

/* The rest is called with the lock held. */

/* Give LANE its thread, if it has none. One that cannot be had is said in the log. */
void lane_start(struct lane *lane);

/* Something has changed: wake all that wait. */
void lanes_tell(struct lanes *lanes);

/* Wait until something changes, or until WHEN_NS (monotonic clock; UINT64_MAX: for ever). */
void lanes_wait(struct lanes *lanes, uint64_t when_ns);

/* Whether what waits outlives the process. */
bool lanes_persist(const struct lanes *lanes);

/* Nothing more to wait for: all is delivered, or refused, or what is left outlives the process. */
bool lanes_drained(const struct lanes *lanes);

/* Whether any has a thread. */
bool lanes_running(const struct lanes *lanes);

/* How long until the next try after FAILURES in a row; RANDOM is below 2^32. */
uint64_t lane_backoff_ns(unsigned int failures, uint32_t random);

#endif
