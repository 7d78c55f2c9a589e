/* Running recordings in a spool: create, find and count the files of core/agent/running_files.h. */
#ifndef UPLOAD_QUEUE_SPOOL_RUNNING_H
#define UPLOAD_QUEUE_SPOOL_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/running_files.h"
#include "core/agent/report.h"

/* Create the files of a running recording in DIR for REPORT's process, with the note locked.
 * Returns 0 or -errno: -ENOLCK if the file system has no locks, which show that the process
 * lives. */
int spool_running_make(struct running_files *files, int dir, const struct report *report);

/* Remove the files of the recording NAME, which is the prefix of their names, from DIR. */
void spool_running_unlink(int dir, const char *name);

/* True if NAME is the name of such a note. */
bool spool_running_is_note(const char *name);

/* Disk bytes of all running recordings of this user in DIR. */
uint64_t spool_running_bytes(int dir);

#endif
