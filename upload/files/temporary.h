/* Temporary files with a hidden name, so that no reader takes an incomplete file for a profile. */
#ifndef UPLOAD_FILES_TEMPORARY_H
#define UPLOAD_FILES_TEMPORARY_H

#include <stdbool.h>
#include <sys/types.h>

#include "upload/files/name.h"

/* Create a temporary file in DIR and set NAME to its name. Returns a descriptor for writing,
 * locked until temporary_close(), or -errno. */
int temporary_create(int dir, mode_t mode, char name[NAME_FILE_SIZE]);

/* Close FD, the descriptor of file NAME. Removes the file if ERR is not 0 or closing fails.
 * Returns ERR if not 0, else the result of closing: 0 or -errno. */
int temporary_close(int dir, const char *name, int fd, int err);

/* Rename the file TEMPORARY in DIR to the first free profile name of REPORT, which NAME then is.
 * Returns 0 or -errno. */
int temporary_rename(int dir, const char *temporary, const struct report *report,
		     char name[NAME_FILE_SIZE]);

/* True if temporary_create() makes such a NAME. */
bool temporary_is(const char *name);

/* Remove the temporary file NAME of this user in DIR if its writer is gone. That is: it is
 * unlocked and unchanged for a minute, or unchanged for an hour. */
void temporary_sweep(int dir, const char *name);

#endif
