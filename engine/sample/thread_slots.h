/* The slots of threads: an array that grows by blocks and never moves, and a stack of those that
 * are free. Nobody waits for anybody; all but what takes and gives is async-signal-safe. */
#ifndef ENGINE_SAMPLE_THREAD_SLOTS_H
#define ENGINE_SAMPLE_THREAD_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/asprof.h"
#include "engine/sample/thread_clock.h"

struct thread {
	_Atomic pid_t tid;  /* 0 while the slot is free */
	_Atomic bool ended; /* its owner is gone, or going and done with the slot */
	uint32_t index;     /* of the slot, for good */
	_Atomic uint32_t next_free;
	bool found; /* by looking, so that its end is seen by looking, too */
	/* Stack that is mapped for certain; 0 where unknown. */
	uintptr_t stack_low, stack_high;
	uintptr_t entry; /* the function that it was made for; 0: not known */
	struct thread_clock clock;
	_Atomic bool sampled; /* so its name is wanted */
	char name[16];        /* set when it has ended and was sampled */
	struct asprof_thread_local_data *_Atomic local;
};

/* A slot for thread TID, with nothing known of it, or NULL when there is no room. FOUND: it is not
 * the thread itself that takes it. */
struct thread *thread_slot_acquire(pid_t tid, bool found);

/* Stop its clock and free it. */
void thread_slot_release(struct thread *t);

/* In a forked child, where no signal carries a pointer to one: there are none, nor their memory. */
void thread_slots_after_fork(void);

/* The slots that are taken, one after the other: *AT begins at 0. NULL behind the last. */
struct thread *thread_slot_next(uint32_t *at);

/* The slot of TID, which has not ended, or NULL. */
struct thread *thread_slot_find(pid_t tid);

/* True when a slot is at ADDRESS: a signal's value is looked at before it is believed. */
bool thread_slot_is_valid(uintptr_t address);

/* How many are taken. */
uint32_t thread_slot_count(void);

#endif
