/* Between the rotation and the reporters: reports wait here, bounded by bytes and age, until
 * each reporter has got them. */
#ifndef UPLOAD_QUEUE_QUEUE_H
#define UPLOAD_QUEUE_QUEUE_H

#include "core/options/config.h"
#include "core/agent/report.h"

/* Make a reporter that hands on to REPORTERS, each with its own progress and its own thread,
 * "asprof-upload"; it owns them. CONFIG must outlive it.
 *
 * deliver() copies the report and does not wait for the network. Reporters without a cancel()
 * never take long: they get the report within deliver(), and only where that fails are they tried
 * again like the others. Reports wait in CONFIG's spool, or in memory where it has none or the
 * spool fails; either holds what CONFIG says. After a failure that may pass the report is tried
 * again, with random pauses that grow to 30 seconds, and with the first success all that waits is
 * sent. With intervals of ten seconds and more a report is sent a part of the interval later, a minute at
 * most, which differs from process to process. Only what a reporter can never take, -EBADMSG, is dropped.
 *
 * drain() tries at once all that waits, until all is delivered or its deadline has come; a
 * reporter that has failed is waited for no longer with a spool, as what is left outlives the process,
 * nor where it refuses (-EACCES), as nobody mends that so soon. How many reports are lost for good is
 * said in the log, before that deadline. close() waits a fifth of a second for the threads to end; one
 * that waits for the network longer is left alone, with all it uses.
 *
 * In a forked child there are no threads: forget the queue there and make another.
 *
 * Returns 0 and sets *OUT, or -errno with the reporters untouched. */
int queue_open(struct reporter **out, struct reporter *const *reporters, size_t count,
	       const struct config *config);

/* Have RECOVER, as struct deliveries has it, called while there is nothing to deliver from QUEUE's spool. */
void queue_recover_by(struct reporter *queue,
		      int (*recover)(int dir, bool (*go_on)(void *context), void *context));

#endif
