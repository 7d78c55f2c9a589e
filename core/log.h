/* The agent's few words to the operator: one line each, on stderr or in LOG_FILE, never on
 * stdout. Any thread. errno is not touched, and nothing here waits for a reader: a line that cannot be
 * written at once, or almost, is lost.
 *
 * LOG_FILE is opened where the agent has its other descriptors, and not in the program's table; a
 * line that a thread of the program has for it is kept until the agent thread writes it. */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include "core/log_level.h"
#include "core/wake.h"

/* Say lines up to LEVEL. With PATH, which must stay valid, they are appended to that file; with
 * NULL, or where the file cannot be opened later, they go to the stderr that the process has now. To
 * that for as long as the descriptor still is that file: a program that puts something else there is
 * not written to. Nothing stays open. For a thread of the program, before any of ours is started.
 *
 * Returns 0, or -errno when PATH cannot be opened: -ENXIO for a FIFO that nobody reads. */
int log_open(enum log_level level, const char *path);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A warning from a signal handler: FORMAT, which must stay valid, has one %d. The agent thread says
 * it. Async-signal-safe. */
void log_warn_later(const char *format, int number) __attribute__((format(printf, 1, 0)));

/* From now on lines are kept for the agent thread, which AGENT wakes, and which calls
 * log_write_queued(). */
void log_queue_for(struct wake *agent);

/* Say what was kept. On the agent thread. */
void log_write_queued(void);

/* On the agent thread, which goes without a table of its own: LOG_FILE is opened in the
 * program's, with a high number, and every thread writes to it from now on. */
void log_share(void);

/* There is no agent thread any more, or this is a forked child, which has none: what is said goes to
 * stderr. */
void log_forget(void);

#endif
