/* Deliveries: each reporter has a thread that takes what waits for it out of the stores, and tries until
 * that is delivered or given up, with a pause between two tries. For the queue alone. */
#ifndef UPLOAD_QUEUE_DELIVERY_H
#define UPLOAD_QUEUE_DELIVERY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "upload/queue/store.h"

struct delivery {
	struct deliveries *deliveries;
	struct reporter *reporter;
	unsigned int bit;      /* in a report's pending */
	unsigned int failures; /* in a row */
	uint64_t next_ns;      /* no try before */
	bool running;          /* has a thread */
	bool busy;             /* in the reporter */
	bool empty;            /* found nothing for it since the last put or try of any delivery */
	bool tried;            /* failed since draining began */
	uint64_t delivered, failed; /* reports, and tries that failed */
	uint64_t maybe_twice;       /* as the reporter had it behind the last try */
	uint64_t delivered_ms;      /* the last, since 1970 */
	int error;                  /* of the last try; 0: it went well */
	bool refused;               /* so: nothing that is tried again in a second or two will do */
};

struct deliveries {
	pthread_mutex_t lock;     /* held for all of this and the stores, but not in a reporter */
	_Atomic uint32_t changes; /* of anything here; a futex for those who wait */
	struct store *stores[2];  /* the spool, where there is one, and memory */
	size_t store_count;
	struct delivery each[REPORTERS_MAX];
	size_t count;
	struct report_losses losses; /* aged, refused and their bytes */
	bool draining;               /* failures are tried again soon */
	bool closing;                /* threads end */

	/* Have what dead processes left in the spool DIR become reports there, as long as GO_ON allows.
	 * Returns how many, or -errno. NULL: nobody does. */
	int (*recover)(int dir, bool (*go_on)(void *context), void *context);
	bool recovering;
	uint64_t recover_ns; /* not before */
};

/* Start with DELIVERIES zeroed; free closes the stores, when no thread runs. */
void deliveries_init(struct deliveries *deliveries);
void deliveries_free(struct deliveries *deliveries);

/* A delivery for REPORTER, without a thread; REPORTERS_MAX at most. */
void deliveries_add(struct deliveries *deliveries, struct reporter *reporter);

/* The rest is called with the lock held. */

/* A try has ended with ERR. */
void delivery_record_result(struct delivery *delivery, int err);

/* Give DELIVERY its thread, if it has none. One that cannot be had is said in the log. */
void delivery_start(struct delivery *delivery);

/* Something has changed: wake all that wait. */
void deliveries_notify(struct deliveries *deliveries);

/* Wait until something changes, or until WHEN_NS (monotonic clock; UINT64_MAX: for ever). */
void deliveries_wait(struct deliveries *deliveries, uint64_t when_ns);

/* Whether what waits outlives the process. */
bool deliveries_are_persistent(const struct deliveries *deliveries);

/* Nothing more to wait for: all is delivered, or refused, or what is left outlives the process. */
bool deliveries_are_drained(const struct deliveries *deliveries);

/* Whether any has a thread. */
bool deliveries_have_threads(const struct deliveries *deliveries);

/* How long until the next try after FAILURES in a row; RANDOM is below 2^32. */
uint64_t delivery_pause_ns(unsigned int failures, uint32_t random);

#endif
