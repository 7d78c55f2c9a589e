/* The local reporter: each report is a file in a directory. */
#ifndef UPLOAD_LOCAL_H
#define UPLOAD_LOCAL_H

#include "core/options.h"
#include "core/report.h"

/* Note, in the constructor, what CONFIG's directory goes by: TMPDIR of ENVIRONMENT, or where a
 * relative path begins. The program may be changing both when the directory is opened.
 * Returns 0 or -ENOMEM. */
int local_capture(const struct config *config, char *const *environment);

/* Open the directory that CONFIG names, making it where it does not exist. With none named it
 * is /var/lib/asprof-agent where that exists and can be written, else a directory of the
 * user's own under $TMPDIR or /tmp, which is refused when it is a link, somebody else's, or
 * open to others.
 *
 * Files appear whole, under a name that was free, and the oldest go when the limits on bytes
 * and age are passed. Only files with names as this reporter gives them count and go. Any
 * number of processes may share a directory.
 *
 * Returns 0 and sets *OUT (release with its close), or -errno after saying why in the log. */
int local_reporter_open(struct reporter **out, const struct config *config);

#endif
