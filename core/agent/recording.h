/* The file that an engine writes its recording into. Finished chunks are cut off at its front,
 * and their space is given back, while the engine goes on behind them. */
#ifndef CORE_AGENT_RECORDING_H
#define CORE_AGENT_RECORDING_H

#include "core/agent/report.h"

struct recording;

/* Make an unnamed file in memory; with DIR, where the kernel has none, an unlinked one there.
 * Returns 0 and sets *OUT (release with recording_close), or -errno. */
int recording_open(struct recording **out, const char *dir);

/* The same of the empty file FD, which is the recording's from now on. */
int recording_open_in(struct recording **out, int fd);

/* What to tell an engine as file=: a path by which every thread of this process can open it, whatever
 * table of descriptors it has. */
const char *recording_path(const struct recording *recording);

/* The number in such a path, in the table of the thread that opened the recording; -1 when PATH is
 * another. */
int recording_number(const char *path);

/* Its descriptor, in the same table; the recording's. */
int recording_fd(const struct recording *recording);

/* Set *SIZE to that of the finished chunk at OFFSET of FD, a file of END bytes; to 0 when it is not
 * finished. Returns 0, or -errno: -EBADMSG when what lies there is no JFR. */
int recording_chunk(int fd, off_t offset, off_t end, uint64_t *size);

/* Have what is finished move on to FD, a file that outlives the process, behind all that is there; it is the
 * recording's from now on, and parts are of that file. For an engine that writes in threads of the
 * program, which must not wait for a disk. */
void recording_move_to(struct recording *recording, int fd);

/* Move what is finished there, where it becomes one chunk with what was moved last, if it can (core/agent/chunk_join.h);
 * without recording_move_to() nothing. Returns 0, or -errno: no more goes there,
 * and what was not cut yet is in memory again. */
int recording_move(struct recording *recording);

/* Set PART to the chunks that were finished since the last cut; its length is 0 when there are
 * none. Whatever an engine may have written, PART holds whole chunks only. Returns 0, or -errno:
 * -EBADMSG when what lies there is no JFR. PART is good until it is released. What has yet to be moved
 * is not in it. */
int recording_cut(struct recording *recording, struct report_part *part);

/* The same without a cut: they are handed out by the next. */
int recording_peek(const struct recording *recording, struct report_part *part);

/* Give back the space of PART and of all before it. */
void recording_release(struct recording *recording, const struct report_part *part);

/* The engine must have closed the file, or be done with it. NULL is nothing to do. */
void recording_close(struct recording *recording);

/* Likewise for an engine that failed, and may write there for ever: the file stays, and so does its
 * descriptor. */
void recording_leak(struct recording *recording);

#endif
