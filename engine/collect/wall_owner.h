/* Stacks of threads that own locks, taken while other threads wait for these. Agent thread only. */
#ifndef ENGINE_COLLECT_WALL_OWNER_H
#define ENGINE_COLLECT_WALL_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/sample/ring.h"
#include "engine/sample/threads.h"

/* CPU time that an interrupted thread may use to go back to sleep. */
#define WALL_BACK_TO_SLEEP_NS 50000u

/* Maximum number of threads that are interrupted for it in a second. */
#define WALL_OWNERS_PER_SECOND 100

/* A requested stack. */
struct wall_owner {
	struct thread *thread;
	pid_t tid;
	uint64_t asked_ticks; /* time of the request */
	uint64_t cpu_ns;      /* the thread's CPU time at its stack */
	uint64_t ticks;       /* time of the stack; 0: it has not arrived yet */
	uintptr_t *pcs;       /* malloc'd */
	uint32_t depth;
	bool truncated;
};

/* Interrupt thread TID for its stack. Returns NULL if it has no slot, if WALL_OWNERS_PER_SECOND is
 * exceeded, or without memory; release the result with wall_owner_free(). Time is NOW_NS
 * (monotonic). */
struct wall_owner *wall_owner_request(pid_t tid, uint64_t now_ns);

/* The same for a sleeping THREAD, whose stack of DEPTH frames at PCS is known: it is copied, and no signal is sent. */
struct wall_owner *wall_owner_known(struct thread *thread, const uintptr_t *pcs, uint32_t depth,
				    bool truncated);

/* True when the stack is pending, or has arrived and its thread has not run since. */
bool wall_owner_is_current(const struct wall_owner *owner);

/* SAMPLE has arrived from THREAD: copy its stack to all requests for that thread. */
void wall_owner_deliver(const struct thread *thread, const struct sample *sample);

/* Free OWNER, whether its stack has arrived or not. NULL is allowed. */
void wall_owner_free(struct wall_owner *owner);

#endif
