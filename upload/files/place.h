/* Where directories lie that are named by the settings: what their paths go by. */
#ifndef UPLOAD_FILES_PLACE_H
#define UPLOAD_FILES_PLACE_H

#include "core/options/config.h"

/* Where reports go that no setting sends elsewhere, where that is there and can be written. */
#define PLACE_SHARED "/var/lib/asprof-agent"

/* Note, in the constructor, TMPDIR of ENVIRONMENT, and the working directory where CONFIG's paths
 * begin there. The program may be changing both when a directory is opened.
 * Returns 0 or -ENOMEM. */
int place_capture(const struct config *config, char *const *environment);

/* PATH as it was meant then, malloc'd; NULL without memory. */
char *place_absolute(const char *path);

/* Open the directory of this user's own, asprof-agent-UID below $TMPDIR, or below /tmp where that
 * cannot be had, as dir_make_private() does. *PATH is what it is called, malloc'd, or NULL without
 * memory. Returns its descriptor, or -errno. */
int place_private(char **path);

/* Words for what place_private() returned. */
const char *place_error_text(int err);

#endif
