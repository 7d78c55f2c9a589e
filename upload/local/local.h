/* Local reporter: each report becomes a file in a directory. */
#ifndef UPLOAD_LOCAL_LOCAL_H
#define UPLOAD_LOCAL_LOCAL_H

#include "core/options/config.h"
#include "core/agent/report.h"

/* Open the directory of CONFIG; create it if it is missing. Without a setting, use
 * /var/lib/asprof-agent if it exists and is writable. Else use a directory of this user in
 * $TMPDIR or /tmp. That one is refused if it is a link, belongs to another user, or is open to
 * others. place_capture() (place.h) has saved these paths.
 *
 * Files appear complete, under an unused name. The oldest files are removed before the limits
 * on bytes and age are exceeded. On a full disk they are removed before a retry. Only files of
 * this user with names of this reporter are counted and removed. Processes may share a
 * directory.
 *
 * If the process changes its user and cannot write any more, profiles go to the new user's own
 * directory. This is logged once, with advice.
 *
 * Returns 0 and sets *OUT (release with its close), or -errno after logging the reason. */
int local_reporter_open(struct reporter **out, const struct config *config);

#endif
