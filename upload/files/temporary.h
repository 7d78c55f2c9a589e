/* Files under a hidden name, so that nobody takes a half of one for a profile. */
#ifndef UPLOAD_FILES_TEMPORARY_H
#define UPLOAD_FILES_TEMPORARY_H

#include <stdbool.h>
#include <sys/types.h>

#include "upload/files/name.h"

/* Make a file in DIR and set NAME to what it is called. Returns a descriptor to write to, which
 * is locked as long as it is being written (release with temporary_close), or -errno. */
int temporary_create(int dir, mode_t mode, char name[NAME_FILE_SIZE]);

/* Close FD, the file NAME; it goes when ERR, or closing, tells that it is not whole.
 * Returns ERR, or what closing came to: 0 or -errno. */
int temporary_close(int dir, const char *name, int fd, int err);

/* True when NAME is one that temporary_create() makes. */
bool temporary_is(const char *name);

/* Remove the file NAME in DIR, a temporary one of this user's, if its writer is gone: nobody has it
 * locked and a minute has passed, or an hour has. */
void temporary_sweep(int dir, const char *name);

#endif
