/* Threads of the program that nobody told of: those that were there before the engine, and those that a
 * raw clone made. They are found by looking, as is their end. Agent thread only. */
#ifndef ENGINE_COLLECT_THREAD_LOOK_H
#define ENGINE_COLLECT_THREAD_LOOK_H

#include "engine/sample/thread_clock.h"

/* Begin with a slot for every thread there is, and TIMERS for every thread from now on. Returns 0, or
 * -EAGAIN when not one thread of the program has a slot; undone by threads_close() in any case. */
int thread_look_open(const struct thread_timers *timers);

/* Look for threads that came or went unseen. Cheap when their number is as known. */
void thread_look(void);

#endif
