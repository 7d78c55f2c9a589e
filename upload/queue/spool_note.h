/* The note of a report in a spool: the file NAME.spool.json describes the recording
 * NAME.spool.jfr. */
#ifndef UPLOAD_QUEUE_SPOOL_NOTE_H
#define UPLOAD_QUEUE_SPOOL_NOTE_H

#include <sys/stat.h>

#include "core/buf.h"
#include "upload/queue/store.h"

/* The name of the note for the recording NAME, "….spool.jfr". */
void spool_note_name(char out[NAME_FILE_SIZE + 1], const char *name);

/* Append the note of HELD to OUT as JSON without secrets. It describes HELD's report, the
 * pending reporters out of NAMES, and the origin (this process, if HELD has none). The reporters
 * of other processes are those of the note that was read. Returns 0 or -errno: -EINVAL if
 * spool_note_parse() could not read it back. */
int spool_note_write(struct buf *out, const struct stored_report *held, const char *const *names,
		     unsigned int count);

/* Write the note to a temporary file in DIR; TEMPORARY is its name. Returns 0 or -errno. */
int spool_note_save(int dir, const struct stored_report *held, const char *const *names,
		    unsigned int count, char temporary[NAME_FILE_SIZE]);

/* Rename the temporary files NOTE and RECORDING in DIR to REPORT's names. NAME is then the
 * recording's name. Returns 0 or -errno. */
int spool_note_join(int dir, const struct report *report, const char *note, const char *recording,
		    char name[NAME_FILE_SIZE]);

/* Parse a note into HELD, except for the report's parts; the report's strings point into HELD. A
 * reporter that is not in NAMES belongs to another process and sets the bit COUNT. Words that
 * become part of a file name or object name are checked.
 *
 * Returns 0, -EBADMSG or -ENOMEM. Release HELD with spool_note_free() in any case. */
int spool_note_parse(struct stored_report *held, const char *text, size_t length,
		     const char *const *names, unsigned int count);

/* The same for the LENGTH bytes at AT in the file FD. Returns 0, -EBADMSG or another -errno. */
int spool_note_read(struct stored_report *held, int fd, off_t at, off_t length,
		    const char *const *names, unsigned int count);

/* The names of the pending reporters in HELD's note, as an array of strings. */
const struct cJSON *spool_note_pending(const struct stored_report *held);

/* Free the allocated members of HELD. */
void spool_note_free(struct stored_report *held);

/* Open NAME in DIR to read and lock it: for a lock, NFSv4 needs a descriptor for writing. Returns a
 * descriptor and its state in ST, or -errno: -EPERM unless it is a regular file of this user with
 * one name only. Then no other user has created it. */
int spool_note_open(int dir, const char *name, struct stat *st);

/* Remove notes in DIR without a recording: a process was killed between creating the two. */
void spool_note_sweep(int dir);

#endif
