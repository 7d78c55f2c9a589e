/* What is known of a report in a spool beyond its recording: the file NAME.spool.json. */
#ifndef UPLOAD_QUEUE_SPOOL_NOTE_H
#define UPLOAD_QUEUE_SPOOL_NOTE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "core/buf.h"
#include "upload/queue/store.h"

/* What the note of the recording NAME, "….spool.jfr", is called. */
void spool_note_name(char out[NAME_FILE_SIZE + 1], const char *name);

/* Append HELD's report, those of NAMES whose bits are pending, and whom it is of (this process, where
 * HELD does not say), as JSON without secrets. Returns 0 or -errno: -EINVAL where it could not be read
 * back. */
int spool_note_write(struct buf *out, const struct held *held, const char *const *names,
		     unsigned int count);

/* Write it to a temporary file in DIR, the name of which goes to TEMPORARY. Returns 0 or -errno. */
int spool_note_save(int dir, const struct held *held, const char *const *names, unsigned int count,
		    char temporary[NAME_FILE_SIZE]);

/* Give NOTE and RECORDING, temporary files in DIR, the names of REPORT's; *NAME is the recording's. Returns 0
 * or -errno. */
int spool_note_join(int dir, const struct report *report, const char *note, const char *recording,
		    char name[NAME_FILE_SIZE]);

/* Read it back into HELD, the parts apart; the report's strings are HELD's. A name that is not among
 * NAMES sets the bit COUNT: another process has such a reporter. What becomes a part of a file's or
 * an object's name must be fit for that. Returns 0 (release it with spool_note_free()), or -EBADMSG, or
 * -ENOMEM. */
int spool_note_read(struct held *held, const char *text, size_t length, const char *const *names,
		    unsigned int count);

/* Free what HELD holds of a note. */
void spool_note_free(struct held *held);

/* True for a plain file of this user's own that has no other name: nobody else has put it there. */
bool is_trusted(const struct stat *file);

/* Remove the notes in DIR whose recording is gone: a process was killed between the two. */
void spool_note_sweep(int dir);

#endif
