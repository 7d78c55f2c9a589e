/* Guard against debug files that crash libdw. The command continues in a child process. If the child crashes while it
 * reads such a file, another child starts and skips the file. */
#ifndef DECODER_SYMBOLIZE_CRASH_GUARD_H
#define DECODER_SYMBOLIZE_CRASH_GUARD_H

#include <stdbool.h>

/* Allow crash_guard_start() to fork. Only main() calls this; tests stay one process. */
void crash_guard_enable(void);

/* Fork, and return in the child; the parent exits like the last child. Call this with one thread, before any output
 * is written or input is read that cannot be repeated. */
void crash_guard_start(void);

/* Mark the file at PATH as being read until crash_guard_leave(). One thread at a time. */
void crash_guard_enter(const char *path);
void crash_guard_leave(void);

/* Whether reading the file at PATH has crashed. */
bool crash_guard_excludes(const char *path);

#endif
