/* File that an engine writes its recording to. Finished chunks are cut off at its front and their space is freed,
 * while the engine appends new chunks. */
#ifndef CORE_AGENT_RECORDING_H
#define CORE_AGENT_RECORDING_H

#include "core/agent/report.h"

struct recording;

/* Create an unnamed file in memory; an unlinked file in DIR, if not NULL, when the kernel has none. Returns 0 and
 * sets *OUT (release with recording_close), or -errno. */
int recording_open(struct recording **out, const char *dir);

/* The same with FD, an empty file, which the recording owns from now on. */
int recording_open_in(struct recording **out, int fd);

/* Return the path for an engine's file= option. Every thread of this process can open it, also with another
 * descriptor table. */
const char *recording_path(const struct recording *recording);

/* Return the descriptor in such a path, valid in the table of the thread that opened the recording; -1 for other
 * paths. */
int recording_number(const char *path);

/* Return the recording's descriptor, in the same table. The recording owns it. */
int recording_fd(const struct recording *recording);

/* Set *SIZE to the size of the finished chunk at OFFSET of FD, a file of END bytes; to 0 when the chunk is not
 * finished. Returns 0, or -errno; -EBADMSG when the chunk has no magic: then the data is not JFR, or, if *SIZE is not 0,
 * the chunk is damaged. */
int recording_chunk(int fd, off_t offset, off_t end, uint64_t *size);

/* Move finished chunks to the end of FD, a file that outlives the process. The recording owns FD, and its parts are
 * in FD. For an engine that writes in threads of the program, which must not wait for a disk. */
void recording_move_to(struct recording *recording, int fd);

/* Move the finished chunks there. Does nothing without recording_move_to(). Returns 0 or -errno. After an error no
 * more chunks are moved, and chunks that were not cut are in memory again. */
int recording_move(struct recording *recording);

/* Set PART to the chunks that were finished since the last cut; its length is 0 when there are none. PART holds
 * whole chunks only, whatever the engine wrote; damaged chunks are dropped. It is valid until it is released. Chunks
 * that are not moved yet are not in it. Returns 0, or -errno; -EBADMSG when the data is not JFR. */
int recording_cut(struct recording *recording, struct report_part *part);

/* The same without a cut: the next cut returns these chunks too. */
int recording_peek(struct recording *recording, struct report_part *part);

/* Skip the chunk that the engine could not finish, because its writes fail. The engine continues with another chunk,
 * whose beginning may be missing too; then it is at the end of the file. */
void recording_skip_chunk(struct recording *recording);

/* Return the number of chunks that were dropped since the last call. */
uint64_t recording_take_dropped(struct recording *recording);

/* True when the program has a limit for the size of its files (RLIMIT_FSIZE). The recording's files have it as well. */
bool recording_has_size_limit(void);

/* Return the bytes written and not cut, finished or not. */
uint64_t recording_uncut_bytes(const struct recording *recording);

/* Free the space of PART and of everything before it. Returns 0, or -EOPNOTSUPP if the file's system cannot free a part
 * of a file: the file grows without limit. */
int recording_release(struct recording *recording, const struct report_part *part);

/* After recording_move_to(): move to memory instead from now on. Returns 0 or -errno. */
int recording_move_to_memory(struct recording *recording);

/* Free the recording, which may be NULL. The engine no longer uses the file. */
void recording_close(struct recording *recording);

/* Free the recording of an engine that failed and may still write. The file and its descriptor stay. */
void recording_leak(struct recording *recording);

#endif
