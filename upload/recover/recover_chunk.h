/* The chunks that a dead process was writing, finished from its journal. */
#ifndef UPLOAD_RECOVER_RECOVER_CHUNK_H
#define UPLOAD_RECOVER_RECOVER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/collect/keeping.h"

struct recover_journal;

/* Read the LENGTH bytes of records at DATA, which stay the caller's and may be anything: as far as they make
 * sense. PID: whose they are. Returns 0 and sets *OUT (release with recover_journal_close), or -errno. */
int recover_journal_open(struct recover_journal **out, const uint8_t *data, size_t length,
			 pid_t pid);

/* What was told last; NULL where there is no chunk that could be finished. */
const struct keeping_mark *recover_journal_mark(const struct recover_journal *journal);

/* Whether there is a chunk number WRITER, and where it begins in its file. */
bool recover_journal_has(const struct recover_journal *journal, unsigned writer, uint64_t *start);

/* Append that chunk, the events of which are in IN, a file of IN_LENGTH bytes, to OUT, at its end. *EVENTS is
 * how many bytes of events are in. Returns 0 or -errno, with OUT as it was. */
int recover_journal_finish(struct recover_journal *journal, unsigned writer, int in,
			   off_t in_length, int out, uint64_t *events);

void recover_journal_close(struct recover_journal *journal); /* NULL is fine */

#endif
