/* Running recordings in a spool: the files of core/agent/running_files.h, made, found and counted. */
#ifndef UPLOAD_QUEUE_SPOOL_RUNNING_H
#define UPLOAD_QUEUE_SPOOL_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/running_files.h"
#include "core/agent/report.h"

/* Make those of WHOM in DIR, the journal locked. Returns 0, or -errno: -ENOLCK where nothing would tell that the
 * process lives. */
int spool_running_make(struct running_files *files, int dir, const struct report *whom);

/* Whether NAME is that of a journal. */
bool spool_running_is_note(const char *name);

/* What all such files of this user's take of the disk. */
uint64_t spool_running_bytes(int dir);

#endif
