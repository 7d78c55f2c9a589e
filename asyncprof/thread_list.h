/* The threads of the program, where async-profiler looks for them: in /proc/self/task. It is shown the program's
 * alone, none of ours and none of its own, and as long as there is but the main one the kernel is not asked for a
 * list. That is more than work saved: a list has the kernel make an entry for each thread, which goes when the thread
 * ends; whoever waits for the process takes away those that are left, and spins while a thread is about to do so. A
 * nice one of ours gets no processor for it as long as others want one. */
#ifndef ASYNCPROF_THREAD_LIST_H
#define ASYNCPROF_THREAD_LIST_H

#include <stdbool.h>
#include <sys/types.h>

struct engine_thread;

/* A thread of ours has async-profiler make one: a place for it. NULL where there is none; that is a thread of the program's
 * then, as far as is known here. */
struct engine_thread *async_profiler_thread_allocate(void);

/* In the one that makes it: it is there now, or could not be made. PLACE may be NULL. */
void async_profiler_thread_created(struct engine_thread *place, bool is_there);

/* In that thread, which may be before; and, in every thread, at its end. */
void async_profiler_thread_started(struct engine_thread *place);
void async_profiler_thread_ended(void);

/* The main one is all that the program has, as far as the kernel counts; false where that cannot be told. For threads of
 * ours: where one is just being made, it waits some milliseconds. */
bool thread_list_is_only_main(void);

/* TID is none of ours, nor of async-profiler's. */
bool thread_list_contains(pid_t tid);

#endif
