/* The threads of this process, a slot for each, with its clock.
 *
 * A slot is taken by its own thread when that starts, or by the agent thread when it finds one
 * that came another way (before the engine started, or by a raw clone). A thread that ends only
 * marks its slot; the agent thread gives it back. Slots are reused and never freed: a signal may
 * carry a pointer to one. */
#ifndef ENGINE_SAMPLE_THREADS_H
#define ENGINE_SAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/asprof.h"
#include "engine/sample/thread_slots.h"

/* Have no timer signal any more, for good: the signal is the program's now. Async-signal-safe. */
void threads_disarm(void);

/* In a thread that starts, with the address range of its stack that is mapped for certain and the
 * function that it is to run, and in one that ends. Not in signal context. No lock is taken. */
void threads_started(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry);
void threads_ended(void);

/* The calling thread's slot, or NULL. Async-signal-safe. Cheap in a thread that took its slot
 * itself, a look at all slots in others. */
struct thread *threads_self(void);

/* The same where it is known that the thread is TID: no system call. */
struct thread *threads_self_by_tid(pid_t tid);

/* True when T is the calling thread's slot, and it has not ended. A thread that ends keeps its signal
 * mask, which is the program's: signals under way find out by this that the slot is not theirs any
 * more. Async-signal-safe. */
bool threads_is_self(const struct thread *t);

/* This thread's data for asprof_get_thread_local_data. */
struct asprof_thread_local_data *threads_local(void);

/* In a forked child: no thread has a slot, and there is no timer. */
void threads_after_fork(void);

/* The rest is for the agent thread, which the C library need not know. */

/* Begin with TIMERS for every thread that has a slot, or is adopted from now on. */
void threads_open(const struct thread_timers *timers);

/* Give a slot to thread TID, which came without being told, with what is known of its stack. */
void threads_adopt(pid_t tid, uintptr_t stack_low, uintptr_t stack_high);

/* From now on threads that start take slots themselves. Returns 0, or -EAGAIN when not one thread of
 * the program has a slot. */
int threads_admit(void);

/* Take every timer away; reap first. */
void threads_close(void);

/* A sample of THREAD was taken at TICKS, though the thread was not interrupted for it: move its
 * counter, where it has asked for that. */
void threads_counted(struct thread *thread, uint64_t ticks);

/* Call VISIT for every thread, those that have ended and were not reaped included. */
void threads_each(void (*visit)(void *context, struct thread *thread), void *context);

/* Call LAST for every thread that has ended since, and free its slot. */
void threads_reap(void (*last)(void *context, struct thread *thread), void *context);

#endif
