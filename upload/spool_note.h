/* What is known of a report in a spool beyond its recording: the file NAME.json. */
#ifndef UPLOAD_SPOOL_NOTE_H
#define UPLOAD_SPOOL_NOTE_H

#include "core/buf.h"
#include "upload/store.h"

/* What the note of the recording NAME, "….jfr", is called. */
void spool_note_name(char out[NAME_FILE_SIZE + 1], const char *name);

/* Append HELD's report and those of NAMES whose bits are pending, as JSON. 0 or -errno. */
int spool_note_write(struct buf *out, const struct held *held, const char *const *names,
		     unsigned int count);

/* Read it back into HELD, the parts apart. A name that is not among NAMES sets the bit COUNT:
 * another process has such a reporter. Returns 0 or -EBADMSG. */
int spool_note_read(struct held *held, const char *text, size_t length, const char *const *names,
		    unsigned int count);

/* Remove the notes in DIR whose recording is gone: a process was killed between the two. */
void spool_note_sweep(int dir);

#endif
