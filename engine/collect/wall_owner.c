/* Stacks of threads that own locks, taken while other threads wait for these. */
#include "engine/collect/wall_owner.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/timer/second_limit.h"
#include "engine/collect/wall_interrupt.h"
#include "engine/wait/fuse_call.h"

/* Requests whose stacks have not arrived. Many threads may wait for one lock. */
#define PENDING_MAX 64

static struct {
	struct wall_owner *pending[PENDING_MAX];
	struct second_limit requests;
} owners;

static struct wall_owner **pending_place(const struct wall_owner *owner)
{
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (owners.pending[i] == owner)
			return &owners.pending[i];
	return NULL;
}

struct wall_owner *wall_owner_request(pid_t tid, uint64_t now_ns)
{
	struct wall_owner **place = pending_place(NULL), *owner;
	struct thread_call call;
	struct thread *thread;

	if (!place || fuse_call_find(tid, &call))
		return NULL;
	thread = thread_slot_find(tid);
	if (!thread || !second_limit_count(&owners.requests, now_ns, WALL_OWNERS_PER_SECOND))
		return NULL;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->thread = thread;
	owner->tid = tid;
	owner->asked_ticks = clock_ticks();
	if (!wall_interrupt(owner->thread)) {
		free(owner);
		return NULL;
	}
	*place = owner;
	return owner;
}

/* Returns false when out of memory. */
static bool copy_stack(struct wall_owner *owner, const uintptr_t *pcs, uint32_t depth,
		       bool truncated)
{
	size_t bytes = depth * sizeof(*pcs);

	owner->pcs = malloc(bytes ? bytes : 1);
	if (!owner->pcs)
		return false;
	memcpy(owner->pcs, pcs, bytes);
	owner->depth = depth;
	owner->truncated = truncated;
	return true;
}

struct wall_owner *wall_owner_known(struct thread *thread, const uintptr_t *pcs, uint32_t depth,
				    bool truncated)
{
	struct wall_owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	owner->thread = thread;
	owner->tid = atomic_load(&thread->tid);
	owner->asked_ticks = owner->ticks = clock_ticks();
	owner->cpu_ns = thread_clock_cpu(&thread->clock);
	if (!copy_stack(owner, pcs, depth, truncated)) {
		free(owner);
		return NULL;
	}
	return owner;
}

bool wall_owner_is_current(const struct wall_owner *owner)
{
	if (!owner->ticks)
		return true;
	return atomic_load(&owner->thread->tid) == owner->tid &&
	       thread_clock_cpu(&owner->thread->clock) - owner->cpu_ns <= WALL_BACK_TO_SLEEP_NS;
}

void wall_owner_deliver(const struct thread *thread, const struct sample *sample)
{
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct wall_owner *owner = owners.pending[i];

		if (!owner || owner->thread != thread || owner->tid != sample->tid)
			continue;
		/* Otherwise the thread's next sample is copied. */
		if (!copy_stack(owner, sample->pcs, sample->count, sample->truncated))
			continue;
		owner->cpu_ns = sample->args[1];
		owner->ticks = sample->ticks;
		owners.pending[i] = NULL;
	}
}

void wall_owner_free(struct wall_owner *owner)
{
	struct wall_owner **place = owner ? pending_place(owner) : NULL;

	if (place)
		*place = NULL;
	if (owner)
		free(owner->pcs);
	free(owner);
}
