/* Between the rotation and the reporters: reports wait here, bounded by bytes and age, until
 * each reporter has got them. */
#ifndef UPLOAD_QUEUE_H
#define UPLOAD_QUEUE_H

#include "core/options.h"
#include "core/report.h"

/* Make a reporter that hands on to REPORTERS, each with its own progress and its own thread,
 * "asprof-upload"; it owns them. CONFIG must outlive it.
 *
 * deliver() copies the report and does not wait, but for reporters that cannot be cancelled:
 * those take none long, and get it at once; where one fails it is tried again like the others.
 * Reports wait in CONFIG's spool, or in memory where it has none or the spool fails. What can
 * pass is tried again, at random moments that lie further and further apart; what a reporter
 * refuses (-EACCES, -EBADMSG) is dropped, or kept for an hour where the spool keeps it.
 *
 * drain() tries all that waits at once, and until its deadline where nothing outlives the
 * process. close() ends the threads where they end at once; one that waits for the network is
 * left alone, with all it uses.
 *
 * In a forked child there are no threads: forget the queue there and make another.
 *
 * Returns 0 and sets *OUT, or -errno with the reporters untouched. */
int queue_open(struct reporter **out, struct reporter *const *reporters, size_t count,
	       const struct config *config);

#endif
