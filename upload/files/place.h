/* Paths of the directories that the settings name. */
#ifndef UPLOAD_FILES_PLACE_H
#define UPLOAD_FILES_PLACE_H

#include <stdbool.h>

#include "core/options/config.h"

/* Default directory for reports, if it exists and is writable. */
#define PLACE_SHARED "/var/lib/asprof-agent"

/* Prefix of the private spool of `asprof-agent run`, a directory. */
#define PLACE_RUN_PREFIX ".asprof-agent-run."

/* True if PATH is such a directory, which no user has chosen. */
bool place_is_of_run(const char *path);

/* Save TMPDIR of ENVIRONMENT. Save the working directory too if a path of CONFIG is relative.
 * Called in the constructor: later the program may change both. Returns 0 or -ENOMEM. */
int place_capture(const struct config *config, char *const *environment);

/* PATH relative to the saved working directory, malloc'd; NULL without memory. */
char *place_absolute(const char *path);

/* Open this user's own directory asprof-agent-UID like dir_make_private(). It lies in $TMPDIR,
 * or in /tmp if $TMPDIR is not usable.
 *
 * Returns a descriptor, or -errno. *PATH is its path, malloc'd, or NULL without memory; the
 * caller frees it. */
int place_private(char **path);

/* Text for an error of place_private(). */
const char *place_error_text(int err);

#endif
