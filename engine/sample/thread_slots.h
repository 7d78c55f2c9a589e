/* Table of thread slots: an array that grows by blocks and never moves, with a lock-free stack of
 * free slots. All functions except acquire and release are async-signal-safe. */
#ifndef ENGINE_SAMPLE_THREAD_SLOTS_H
#define ENGINE_SAMPLE_THREAD_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/asprof.h"
#include "engine/sample/thread_call.h"
#include "engine/sample/thread_clock.h"

/* The kernel's counts for a thread at its end. */
struct thread_end {
	uint64_t ticks;  /* time of the end */
	uint64_t cpu_ns; /* 0: no counts */
	uint64_t major_faults, voluntary_switches, involuntary_switches;
};

/* The bits of a lock's word that hold a thread's id (FUTEX_TID_MASK). */
#define LOCK_OWNER_TID 0x3fffffffu

/* Whether a thread uses its slot. */
enum slot_end {
	SLOT_IN_USE,
	SLOT_ENDED, /* the thread has ended, or does not use the slot any more; threads_reap() releases it */
	SLOT_LEFT, /* free, or its thread releases it */
};

struct thread {
	_Atomic pid_t tid;     /* 0 while the slot is free */
	_Atomic uint8_t ended; /* an enum slot_end */
	_Atomic bool
		is_known; /* threads_each() has visited it: the agent may have state of the thread */
	uint32_t index;   /* of the slot; never changes */
	_Atomic uint32_t next_free;
	bool found; /* found by a scan; a scan also finds its end */
	/* Stack range that is certainly mapped; 0 if unknown. */
	uintptr_t stack_low, stack_high;
	uintptr_t entry; /* the thread's start function; 0: unknown */
	struct thread_clock clock;
	_Atomic bool sampled; /* was sampled, so its name is needed */
	char name[16];        /* set when a sampled thread has ended, as is END */
	struct thread_end end;
	uint64_t born_ticks; /* when the slot was acquired */
	struct asprof_thread_local_data *_Atomic local;
	struct thread_call_note call; /* without interposers */
	/* Address of the word with the thread's id in a lock that another thread waits for; 0: none. */
	_Atomic uintptr_t lock_word;
};

/* Acquire an empty slot for thread TID. Returns NULL when there is no room. FOUND: the caller is
 * not thread TID. */
struct thread *thread_slot_acquire(pid_t tid, bool found);

/* Free the slot of a thread that has ended, or whose clock is stopped. */
void thread_slot_release(struct thread *t);

/* Free all slots and their memory in a forked child, where no signal carries a pointer to one. */
void thread_slots_after_fork(void);

/* Iterate over the slots in use; *AT starts at 0. Returns NULL after the last. */
struct thread *thread_slot_next(uint32_t *at);

/* The slot of TID, if that has not ended; else NULL. */
struct thread *thread_slot_find(pid_t tid);

/* True when a slot is at ADDRESS; a signal's value is checked with it before use. */
bool thread_slot_is_valid(uintptr_t address);

/* Number of slots in use. */
uint32_t thread_slot_count(void);

#endif
