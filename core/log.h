/* The agent's few words to the operator: one line each, on stderr or in LOG_FILE, never on
 * stdout. Any thread. In a signal handler too, where the format has no more than %s and %d: nothing
 * here locks or allocates. errno is preserved. */
#ifndef CORE_LOG_H
#define CORE_LOG_H

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Say lines up to LEVEL. With PATH they are appended to that file (opened here, close-on-exec
 * and numbered high); with NULL they go to the stderr that the process has now. Either for as long
 * as that descriptor still is that file: a program that puts something else there is not written
 * to. For a thread of the program, before any of ours has a table of its own (core/own_fds.h).
 * Returns 0, or -errno when PATH cannot be opened. */
int log_open(enum log_level level, const char *path);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
