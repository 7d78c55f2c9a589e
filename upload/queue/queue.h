/* Queue between session and reporters. Reports wait here, limited in bytes and age, until each
 * reporter has delivered them. */
#ifndef UPLOAD_QUEUE_QUEUE_H
#define UPLOAD_QUEUE_QUEUE_H

#include "core/options/config.h"
#include "core/agent/report.h"

/* Make a reporter that passes reports on to REPORTERS and owns them. Each has its own progress
 * and its own thread, "asprof-upload". CONFIG must outlive it.
 *
 * deliver() copies the report and does not wait for the network. It calls a reporter without
 * cancel() directly, because such a reporter is fast; if that fails, the thread retries like the
 * others. Reports wait in CONFIG's spool, or in memory if there is no spool or it fails. CONFIG
 * limits both.
 *
 * A transient failure is retried with random backoff of up to 30 seconds. The first success
 * sends all waiting reports. With intervals of at least ten seconds, each process delays its
 * reports by its own part of the interval. The longest delay is a minute. Only a report that a
 * reporter can never accept (-EBADMSG) is dropped.
 *
 * drain() tries all waiting reports at once, until all are delivered or its deadline passes. It
 * does not wait longer for a failed reporter if a spool keeps the reports. Nor does it wait if
 * the reporter refuses them (-EACCES). It logs the number of lost reports before the deadline.
 * close() waits at most 200 ms for the threads; a thread that still waits for the network keeps
 * running, and its memory is leaked.
 *
 * A forked child has no threads: forget the queue there and open another.
 *
 * Returns 0 and sets *OUT, or -errno without changing the reporters. */
int queue_open(struct reporter **out, struct reporter *const *reporters, size_t count,
	       const struct config *config);

/* Call RECOVER, as described in struct deliveries, when QUEUE's spool has nothing to deliver. */
void queue_recover_by(struct reporter *queue,
		      int (*recover)(int dir, bool (*go_on)(void *context), void *context));

#endif
