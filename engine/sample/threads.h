/* Registry of the process's threads: a slot with a clock for each thread.
 *
 * A thread acquires its slot when it starts. The agent's thread acquires one for each thread that
 * it finds otherwise: started before the engine, or by a raw clone. A thread that ends releases its
 * slot, if it was neither sampled nor visited. Otherwise it only marks the slot, and the agent's
 * thread releases it. Slots are reused and never freed, because a signal may
 * carry a pointer to one. */
#ifndef ENGINE_SAMPLE_THREADS_H
#define ENGINE_SAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/asprof.h"
#include "engine/sample/thread_slots.h"

/* Never send the timer signal again: the program has taken the signal. Async-signal-safe. */
void threads_disarm(void);

/* Called by a thread that starts, with its id, and by one that ends. STACK_LOW to STACK_HIGH is the part of its
 * stack that is certainly mapped; ENTRY is its start function. Not in signal context. Takes no
 * lock. */
void threads_started(pid_t tid, uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry);
void threads_ended(void);

/* The calling thread's slot, or NULL. Async-signal-safe. Cheap in a thread that acquired its slot
 * itself; a scan of all slots in others. */
struct thread *threads_self(void);

/* Like threads_self(), for the calling thread's known TID: no system call. */
struct thread *threads_self_by_tid(pid_t tid);

/* True when T is the calling thread's slot and the thread has not ended. A thread that ends keeps
 * the program's signal mask. A late signal therefore checks with this function that the slot still
 * belongs to its thread. Async-signal-safe. */
bool threads_is_self(const struct thread *t);

/* The calling thread's data for asprof_get_thread_local_data. */
struct asprof_thread_local_data *threads_local(void);

/* In a forked child: release all slots; there are no timers. */
void threads_after_fork(void);

/* The agent's thread calls the functions below; the C library need not know that thread. */

/* Start sampling with TIMERS every thread that has a slot, or gets one later. */
void threads_open(const struct thread_timers *timers);

/* Change the CPU interval of all threads, whose first interval begins now. No handler may use the timers meanwhile:
 * sampler_enable(). */
void threads_set_interval(uint64_t cpu_interval_ns);

/* Before threads_close(): request no more samples, and wait a moment for requested signals, which threads_close() would
 * drop after they have ended a call. IS_END: the program ends, so the moment is shorter: a thread may block the signal.
 * sampler_enable() must be off. */
void threads_pause(bool is_end);

/* Acquire a slot for thread TID, which did not register itself. The stack range is 0 if unknown. */
void threads_adopt(pid_t tid, uintptr_t stack_low, uintptr_t stack_high);

/* From now on, starting threads acquire slots themselves. Returns 0, or -EAGAIN when no thread of
 * the program has a slot. */
int threads_admit(void);

/* Delete every timer; call threads_reap() first. */
void threads_close(void);

/* A sample of THREAD was counted at TICKS without interrupting it: update its sample counter, if
 * the thread has requested one. */
void threads_counted(struct thread *thread, uint64_t ticks);

/* Call VISIT for every thread, including ended threads that were not reaped. */
void threads_each(void (*visit)(void *context, struct thread *thread), void *context);

/* Call LAST for every thread that has ended since the last call, and release its slot. */
void threads_reap(void (*last)(void *context, struct thread *thread), void *context);

#endif
