/* Who is inside: any number of threads for a moment each, or the collector alone. */
#ifndef ENGINE_MEMORY_MEM_READERS_H
#define ENGINE_MEMORY_MEM_READERS_H

#include <stdbool.h>

/* Any thread, async-signal-safe, never waits. False while the doors are closed. */
bool mem_readers_enter(void);
void mem_readers_leave(void);

/* Let nobody in, and wait for those inside, some milliseconds at most. False when somebody stays;
 * the doors are then open again. One thread at a time. */
bool mem_readers_exclude(void);
void mem_readers_admit(void);

/* In a forked child: who was inside then does not exist here. */
void mem_readers_fork_child(void);

#endif
