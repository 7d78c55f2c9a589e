/* Deliveries: one thread for each reporter takes the stored reports and delivers them, with a
 * backoff between tries. Internal to the queue. */
#ifndef UPLOAD_QUEUE_DELIVERY_H
#define UPLOAD_QUEUE_DELIVERY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent/report.h"
#include "upload/queue/store.h"

enum delivery_phase {
	DELIVERY_SEARCHES, /* a stored report may be for it; after a try, and after any change */
	DELIVERY_TRIES,    /* a thread is in the reporter's deliver() */
	DELIVERY_RESTS,    /* it has found no report */
};

/* The worst result of its tries since draining began. */
enum delivery_result {
	DELIVERY_NOT_FAILED,
	DELIVERY_FAILED,
	DELIVERY_REFUSED, /* permanently for now: a retry after a second or two does not help */
};

struct delivery {
	struct deliveries *deliveries;
	struct reporter *reporter;
	unsigned int bit;            /* in a report's pending */
	unsigned int failures;       /* consecutive */
	struct store_mark failed_at; /* the last failed report; later reports are tried first */
	uint64_t next_ns; /* earliest next try, monotonic clock; 0: now, and no delay has begun */
	bool running;     /* has a thread */
	enum delivery_phase phase;
	enum delivery_result result;
	uint64_t delivered, failed; /* reports delivered, and tries that failed */
	uint64_t maybe_twice;       /* the reporter's value after the last try */
	uint64_t delivered_ms;      /* time of the last delivery, since 1970 */
	int error;                  /* of the last try; 0: it succeeded */
};

struct deliveries {
	pthread_mutex_t lock; /* protects this struct and the stores; not held during deliver() */
	_Atomic uint32_t changes; /* of this struct, counted; a futex for waiting threads */
	struct store *stores[2];  /* the spool if there is one, then memory */
	size_t store_count;
	struct delivery each[REPORTERS_MAX];
	size_t count;
	struct report_losses losses; /* aged, refused and their bytes */
	uint64_t logged_aged;        /* "aged" when it was logged last */
	uint64_t log_aged_ns;        /* earliest next log of it, monotonic clock */
	bool draining;               /* drain() runs: retry soon after failures */
	bool closing;                /* threads end */

	/* Make reports of the recordings that dead processes left in the spool DIR, until GO_ON
	 * returns false. Returns the number of reports, or -errno. NULL: no recovery. */
	int (*recover)(int dir, bool (*go_on)(void *context), void *context);
	bool recovering;
	uint64_t recover_ns; /* earliest next recovery, monotonic clock */
};

/* DELIVERIES starts zeroed. deliveries_free() closes the stores; no thread may run then. */
void deliveries_init(struct deliveries *deliveries);
void deliveries_free(struct deliveries *deliveries);

/* Add a delivery for REPORTER, without a thread; at most REPORTERS_MAX. */
void deliveries_add(struct deliveries *deliveries, struct reporter *reporter);

/* The caller of the functions below holds the lock. */

/* A stored report may be for DELIVERY. */
void delivery_search(struct delivery *delivery);

/* Deliver REPORT now, without the lock. Nothing else is in the phase DELIVERY_TRIES. Returns the reporter's result. */
int delivery_deliver(struct delivery *delivery, const struct report *report);

/* Start the thread of DELIVERY if it has none. A failure is logged. */
void delivery_start(struct delivery *delivery);

/* Log the number of reports that were dropped for their age since the last such line: at most a line a minute, or
 * AT_ONCE. */
void deliveries_log_aged(struct deliveries *deliveries, bool at_once);

/* Wake all waiting threads after a change. */
void deliveries_notify(struct deliveries *deliveries);

/* Wait for a change, or until WHEN_NS (monotonic clock; UINT64_MAX: forever). */
void deliveries_wait(struct deliveries *deliveries, uint64_t when_ns);

/* True if all undelivered reports outlive the process. */
bool deliveries_are_persistent(const struct deliveries *deliveries);

/* True if drain() need not wait longer: each report is delivered or refused, or outlives the
 * process. */
bool deliveries_are_drained(const struct deliveries *deliveries);

/* True if any delivery has a thread. */
bool deliveries_have_threads(const struct deliveries *deliveries);

/* Backoff after FAILURES consecutive failures, with full jitter; RANDOM is below 2^32. */
uint64_t delivery_pause_ns(unsigned int failures, uint32_t random);

#endif
