/* Scan for threads of the program that did not register themselves. They started before the engine,
 * or by a raw clone. The scan also finds their end. Agent thread only. */
#ifndef ENGINE_COLLECT_THREAD_LOOK_H
#define ENGINE_COLLECT_THREAD_LOOK_H

#include "engine/sample/thread_clock.h"

/* Acquire a slot for every existing thread, and start TIMERS for every thread from now on.
 * Returns 0, or -EAGAIN when no thread of the program has a slot. In either case threads_close()
 * undoes it. */
int thread_look_open(const struct thread_timers *timers);

/* Scan for unregistered threads that started or ended. Cheap when the number of threads is the
 * known one. */
void thread_look(void);

#endif
