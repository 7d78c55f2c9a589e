/* A report is not lost to a debug file that crashes the library which reads it: the command goes on
 * in a child process, and when that dies while it reads such a file, a new one leaves the file
 * out. */
#ifndef DECODER_SYMBOLIZE_CRASH_GUARD_H
#define DECODER_SYMBOLIZE_CRASH_GUARD_H

#include <stdbool.h>

/* Let crash_guard_start() fork; main() does. What else is built from this code stays one process. */
void crash_guard_enable(void);

/* Returns in the child, which may be a later one; the parent ends as the last child does. To be
 * called while there is one thread, before anything has been written or read that cannot be
 * again. */
void crash_guard_start(void);

/* The file at PATH is being read from here to crash_guard_leave(). One thread at a time. */
void crash_guard_enter(const char *path);
void crash_guard_leave(void);

/* Reading the file at PATH has crashed. */
bool crash_guard_excludes(const char *path);

#endif
