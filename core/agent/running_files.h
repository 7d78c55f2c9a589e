/* The running recording as files of a spool, so that whoever has the spool next can make a profile of it
 * should the process be killed: the chunks that are being written, those of native memory beside them,
 * and a journal (engine/jfr/journal.h) of what only memory has of either.
 *
 * All is written by write(2), from the agent's thread: what is written outlives the process, and no
 * thread of the program ever waits for a disk, as it would for a page of a file that is mapped.
 * Whether the process lives is told by a lock on the journal, which the kernel takes away with it, in
 * whatever container it was: not by its number. Agent thread only. */
#ifndef CORE_AGENT_RUNNING_FILES_H
#define CORE_AGENT_RUNNING_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"

/* How a journal begins; the note follows, JSON that tells whom it is of, and from `start` on the records. */
struct running_head {
	char magic[8];
	uint32_t version;
	uint32_t note_length;
	uint64_t start;      /* of the chunk's records; 0: none yet */
	uint64_t cut;        /* what of the recording lies before it was handed on */
	uint64_t memory_cut; /* likewise of memory's, where that is a recording of its own */
	uint64_t pid;        /* as its process had it, and when that began (/proc/PID/stat) */
	uint64_t began;
};

/* It is none: there are only chunks of the other recording in memory's file. */
#define KEPT_NO_MEMORY UINT64_MAX

#define RUNNING_MAGIC    "asprun\r\n"
#define RUNNING_VERSION  2u
#define RUNNING_NOTE_MAX (64u << 10)

/* What the files are called, behind the same beginning. */
#define RUNNING_NOTE   ".running.log"
#define RUNNING_CHUNKS ".running.chunks"
#define RUNNING_MEMORY ".running.memory"

/* Descriptors of files that were made for it. */
struct running_files {
	int dir, journal, chunks, memory;
	char name[256]; /* their beginning, in DIR */
};

#define RUNNING_FILES_NONE                                           \
	{                                                            \
		.dir = -1, .journal = -1, .chunks = -1, .memory = -1 \
	}

struct kept;

/* Begin with FILES, of a process that NOTE tells of; both are the callee's from now on, or gone. Returns 0
 * and sets *OUT, or -errno. */
int running_files_write_note(struct kept **out, struct running_files *files,
			     const struct buf *note);

/* The one that has the file which FD leads to, by whatever number; NULL where that is not kept. *MEMORY:
 * it is that of native memory. */
struct kept *kept_of(int fd, bool *memory);

/* Descriptors of the files, for the caller to keep; negative where that fails, -errno. That of native memory
 * is empty, and a recording of its own from now on, with BEGIN; else it holds one chunk of the other at most. */
int kept_chunks(const struct kept *kept);
int running_files_dup_memory(struct kept *kept, bool begin);

/* Add RECORDS, those of a new chunk where BEGINS, in place of the chunk's before. A failure is the end of
 * it: what was written until then stays, and no more comes. Returns 0 or -errno. */
int kept_add(struct kept *kept, const struct buf *records, bool begins);

/* What lies before CUT in the recording is somebody else's to deliver, and before MEMORY_CUT in that of native
 * memory; 0: as it was. */
void running_files_write_cut(struct kept *kept, off_t cut, off_t memory_cut);

/* Remove the files, and keep nothing from now on; what has a descriptor of one goes on with it. */
void running_files_unlink(struct kept *kept);

/* There is nothing to recover: remove the files. No engine may be told of it any more. NULL is fine. */
void kept_close(struct kept *kept);

#endif
