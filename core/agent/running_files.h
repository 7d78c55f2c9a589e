/* Files of the running recording in the spool: finished chunks that outlive the process, and a note that describes
 * their origin.
 *
 * After a SIGKILL another process makes a report of them (upload/recover/). The agent's thread writes the files with
 * write(2). So the data outlives the process, and no thread of the program waits for a disk. A lock on the note
 * shows that the process lives. The kernel releases it with the process, in any container.
 *
 * Reporter.create_running_files() creates the files (upload/queue/spool_running.c). The functions are for the agent's
 * thread. The formats are also read by upload/recover/ in another process. */
#ifndef CORE_AGENT_RUNNING_FILES_H
#define CORE_AGENT_RUNNING_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"

/* Place of the JSON in the note's file. */
struct running_place {
	uint32_t at, length;
};

/* Head of the note's file. JSON follows, which describes the process and its destinations. A new JSON never replaces
 * the bytes of the current one. */
struct running_head {
	char magic[8];
	uint32_t version;
	struct running_place note;
	uint32_t unused;
	uint64_t cut;        /* chunks before this offset were passed to the reporters */
	uint64_t memory_cut; /* the same for the recording of native memory */
};

#define RUNNING_MAGIC    "asprun\r\n"
#define RUNNING_VERSION  4u
#define RUNNING_NOTE_MAX (64u << 10)

/* Suffixes of the file names. */
#define RUNNING_NOTE   ".running.log"
#define RUNNING_CHUNKS ".running.chunks"
#define RUNNING_MEMORY ".running.memory" /* native memory, if it has its own recording */

/* Descriptors of the files. */
struct running_files {
	int dir, note, chunks, memory; /* -1: none */
	char name[256];                /* prefix of their names in DIR */
	struct running_place place;    /* of the JSON in NOTE; all 0: none yet */
};

#define RUNNING_FILES_NONE                                        \
	{                                                         \
		.dir = -1, .note = -1, .chunks = -1, .memory = -1 \
	}

/* Write NOTE, the JSON, to the new FILES. Returns 0, or -errno; then the files are closed and removed. */
int running_files_write_note(struct running_files *files, const struct buf *note);

/* Write NOTE, which describes the process from now on. Returns 0, or -errno; then the former JSON stays. */
int running_files_replace_note(struct running_files *files, const struct buf *note);

/* Duplicate the descriptor of the recording's file, or of the file for native memory. The caller closes it. Returns
 * it or -errno. */
int running_files_dup_chunks(const struct running_files *files);
int running_files_dup_memory(const struct running_files *files);

/* Store that chunks before CUT, and before MEMORY_CUT in the file for native memory, were passed to the reporters.
 * MEMORY_CUT 0: unchanged. */
void running_files_write_cut(const struct running_files *files, off_t cut, off_t memory_cut);

/* Unlink the files. Open descriptors stay valid. */
void running_files_unlink(struct running_files *files);

/* Unlink and close the files, when there is nothing to recover. */
void running_files_close(struct running_files *files);

#endif
