/* Striped reader count; the collector excludes readers.
 *
 * Readers are the program's threads in the allocation sampler, for a moment each. The collector
 * excludes them while it replaces the tables. */
#ifndef ENGINE_MEMORY_MEM_READERS_H
#define ENGINE_MEMORY_MEM_READERS_H

#include <stdbool.h>

/* Start and end reading. Any thread, async-signal-safe, never waits. Enter returns false while
 * readers are excluded. */
bool mem_readers_enter(void);
void mem_readers_leave(void);

/* Exclude new readers, and wait some milliseconds at most for the current ones to leave. Returns
 * false if one stays; then readers are admitted again. One thread at a time. */
bool mem_readers_exclude(void);
void mem_readers_admit(void);

/* Reset the counts in a forked child, where the parent's readers do not exist. */
void mem_readers_fork_child(void);

#endif
