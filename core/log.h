/* The agent's log: one line per message, on stderr or in LOG_FILE, never on stdout.
 *
 * Any thread. errno is preserved. No call waits for a reader: a line that cannot be written almost at once is lost.
 * LOG_FILE is opened in the agent's descriptor table, not in the program's. A line of a program thread for LOG_FILE
 * is queued until the agent thread writes it. */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include "core/log_level.h"
#include "core/wake.h"

/* Write messages up to LEVEL. With PATH, which must stay valid, they are appended to that file. With NULL, or when
 * the file cannot be opened later, they go to the current stderr. The log uses that descriptor only while it is the
 * same file: if the program replaces it, nothing is written there. No descriptor stays open. For a thread of the
 * program, before the first own thread starts.
 *
 * Returns 0, or -errno when PATH cannot be opened:
 * - -ENXIO for a FIFO without a reader
 * - -ELOOP for a symbolic link
 * - -EPERM for a file that is not /dev/null, a FIFO or a regular file without other hard links; or that belongs to
 *   another user */
int log_open(enum log_level level, const char *path);

/* After log_open() without PATH: append to that file. Returns as above. */
int log_use_path(const char *path);

/* The same as log_open() with the open file FD. For the command and for tests. */
void log_open_fd(enum log_level level, int fd);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Log a warning from a signal handler. FORMAT must stay valid and has one %d. The agent thread writes the line.
 * Async-signal-safe. */
void log_warn_later(const char *format, int number) __attribute__((format(printf, 1, 0)));

/* From now on queue lines for the agent thread. AGENT wakes that thread, which calls log_write_queued(). */
void log_queue_for(struct wake *agent);

/* From now on threads of the program write their lines themselves: the agent thread may not run again before the
 * process ends. */
void log_stop_queueing(void);

/* Write the queued lines. On the agent thread. */
void log_write_queued(void);

/* On the agent thread when it has no descriptor table of its own: open LOG_FILE in the program's table, with a high
 * number. Every thread writes to it from now on. */
void log_share(void);

/* The agent thread has ended, or this is a forked child: write to stderr from now on. */
void log_forget(void);

#endif
