/* The threads of this process, a slot for each, with its clock.
 *
 * A slot is taken by its own thread when that starts, or by the agent thread when it finds one
 * that came another way (before the engine started, or by a raw clone). A thread that ends only
 * marks its slot; the agent thread gives it back. Slots are reused and never freed: a signal may
 * carry a pointer to one. */
#ifndef ENGINE_SAMPLE_THREADS_H
#define ENGINE_SAMPLE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/asprof.h"
#include "engine/sample/thread_clock.h"

/* What the agent thread knows of a thread's wall clock; nobody else reads it. */
struct thread_wall {
	bool known;           /* the stack below is where it sleeps, as far as is known */
	bool settled;         /* it was seen not to run since */
	bool asked;           /* the timer was armed and its sample has not come yet */
	bool truncated;       /* the stack */
	uint32_t depth;       /* of the stack */
	uintptr_t *pcs;       /* malloc'd */
	uint64_t cpu_ns;      /* the thread's CPU time when that was taken, or last looked at */
	uint64_t due_ns;      /* next visit, monotonic; 0: not yet chosen */
	uint32_t owed;        /* visits that the sample asked for will stand for */
	uint32_t samples;     /* counted since the last event */
	uint64_t first, last; /* ticks of the first and the last of them */
};

struct thread {
	_Atomic pid_t tid;  /* 0 while the slot is free */
	_Atomic bool ended; /* its owner is gone, or going and done with the slot */
	uint32_t index;
	_Atomic uint32_t next_free;
	bool found; /* by looking, so that its end is seen by looking, too */
	/* Stack that is mapped for certain; 0 where unknown. */
	uintptr_t stack_low, stack_high;
	uintptr_t entry; /* the function that it was made for; 0: not known */
	struct thread_clock clock;
	_Atomic bool sampled; /* so its name is wanted */
	char name[16];        /* set when it has ended and was sampled */
	struct asprof_thread_local_data *_Atomic local;
	struct thread_wall wall;
};

/* Begin to keep slots, with TIMERS for every thread from now on. Agent thread. Returns 0, or
 * -EAGAIN when not one thread of the program has a slot. */
int threads_open(const struct thread_timers *timers);

/* Take every timer away; reap first. */
void threads_close(void);

/* Have no timer signal any more, for good: the signal is the program's now. Async-signal-safe. */
void threads_disarm(void);

/* In a thread that starts, with the address range of its stack that is mapped for certain and the
 * function that it is to run, and in one that ends. Not in signal context; errno preserved. No
 * lock is taken. */
void threads_started(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry);
void threads_ended(void);

/* The calling thread's slot, or NULL. Async-signal-safe. Cheap in a thread that took its slot
 * itself, a look at all slots in others. */
struct thread *threads_self(void);

/* The same where it is known that the thread is TID: no system call. */
struct thread *threads_self_by(pid_t tid);

/* True when T is the calling thread's slot, and it has not ended. A thread that ends keeps its signal
 * mask, which is the program's: signals under way find out by this that the slot is not theirs any
 * more. Async-signal-safe. */
bool threads_is_self(const struct thread *t);

/* This thread's data for asprof_get_thread_local_data. */
struct asprof_thread_local_data *threads_local(void);

/* The rest is for the agent thread. */

/* A sample of THREAD was taken at TICKS, though the thread was not interrupted for it: move its
 * counter, where it has asked for that. */
void threads_counted(struct thread *thread, uint64_t ticks);

/* Look for threads that came or went unseen. Cheap when their number is as known. */
void threads_look(void);

/* Call VISIT for every thread, those that have ended and were not reaped included. */
void threads_each(void (*visit)(void *context, struct thread *thread), void *context);

/* Call LAST for every thread that has ended since, and free its slot. */
void threads_reap(void (*last)(void *context, struct thread *thread), void *context);

#endif
