/* The local reporter: each report is a file in a directory. */
#ifndef UPLOAD_LOCAL_LOCAL_H
#define UPLOAD_LOCAL_LOCAL_H

#include "core/options/config.h"
#include "core/agent/report.h"

/* Open the directory that CONFIG names, making it where it does not exist. With none named it
 * is /var/lib/asprof-agent where that exists and can be written, else a directory of the
 * user's own under $TMPDIR or /tmp, which is refused when it is a link, somebody else's, or
 * open to others. place_capture() (place.h) has noted what these go by.
 *
 * Files appear whole, under a name that was free. The oldest go before the limits on bytes and age
 * are passed, and where the disk is full before another try. Only files of this user's, with names
 * as this reporter gives them, count and go. Any number of processes may share a directory.
 *
 * A process may change its user. Where the directory cannot be written to any more, profiles go to
 * the one of the new user's own, which is said once with what would mend it.
 *
 * Returns 0 and sets *OUT (release with its close), or -errno after saying why in the log. */
int local_reporter_open(struct reporter **out, const struct config *config);

#endif
