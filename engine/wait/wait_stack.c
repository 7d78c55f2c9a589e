/* Uses of futexes, from the functions on the waiting thread's stack. */
#include "engine/wait/wait_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/wait/wait_owner.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Frames that are searched: a wrapper of the preload, and internal functions of the C library. */
#define FRAMES_MAX 8

/* Addresses whose use is remembered. */
#define REMEMBERED 256

#define MUTEX  (1u << WAIT_OWNER_MUTEX | 1u << WAIT_OWNER_WORD)
#define RWLOCK (1u << WAIT_OWNER_RWLOCK)
#define THREAD (1u << WAIT_OWNER_WORD)

/* Functions that wait by a futex: a part of the name, which may be a C++ or Rust name. The first
 * match counts. */
static const struct use {
	const char *name;
	uint8_t cause;
	uint8_t owner_kinds; /* forms of the lock, as in struct wait */
} uses[] = {
	{ "pthread_mutex_", WAIT_LOCK, MUTEX },
	{ "mtx_lock", WAIT_LOCK, MUTEX },
	{ "mtx_timedlock", WAIT_LOCK, MUTEX },
	{ "pthread_rwlock_", WAIT_LOCK, RWLOCK },
	{ "pthread_cond_", WAIT_CONDITION, 0 },
	{ "cnd_wait", WAIT_CONDITION, 0 },
	{ "cnd_timedwait", WAIT_CONDITION, 0 },
	{ "pthread_barrier_wait", WAIT_CONDITION, 0 },
	{ "sem_wait", WAIT_SEMAPHORE, 0 },
	{ "sem_timedwait", WAIT_SEMAPHORE, 0 },
	{ "sem_clockwait", WAIT_SEMAPHORE, 0 },
	{ "pthread_join", WAIT_CHILD, THREAD },
	{ "join_np", WAIT_CHILD, THREAD },
	{ "clockjoin", WAIT_CHILD, THREAD },
	{ "thrd_join", WAIT_CHILD, THREAD },
	{ "take_gil", WAIT_GIL, 0 },
	/* Rust: the standard library, and parking_lot. */
	{ "condvar::", WAIT_CONDITION, 0 },
	{ "Condvar", WAIT_CONDITION, 0 },
	{ "Mutex", WAIT_LOCK, 0 },
	{ "mutex::", WAIT_LOCK, 0 },
	{ "thread::park", WAIT_CONDITION, 0 },
	/* Go's runtime: a thread without work. */
	{ "runtime.stopm", WAIT_IDLE, 0 },
	{ "runtime.mPark", WAIT_IDLE, 0 },
	{ "runtime.sysmon", WAIT_SLEEP, 0 },
	{ "runtime.usleep", WAIT_SLEEP, 0 },
};

static struct {
	uintptr_t pc;
	const struct use *use;
} remembered[REMEMBERED];

static const struct use *use_named(const char *name)
{
	for (size_t i = 0; i < COUNT(uses); i++)
		if (strstr(name, uses[i].name))
			return &uses[i];
	return NULL;
}

static const struct use *use_of(struct symbols *symbols, uintptr_t pc)
{
	size_t slot = (pc ^ pc >> 8) % REMEMBERED;
	struct symbol symbol;

	if (remembered[slot].pc == pc)
		return remembered[slot].use;
	if (symbols_resolve(symbols, &pc, 1, &symbol))
		return NULL;
	remembered[slot].pc = pc;
	remembered[slot].use = use_named(symbol.name);
	return remembered[slot].use;
}

void wait_set_cause_by_stack(struct wait *wait, struct symbols *symbols, const uintptr_t *pcs,
			     size_t count)
{
	const struct use *use = NULL;

	if (!wait->is_futex || !symbols)
		return;
	for (size_t i = 0; i < count && i < FRAMES_MAX && !use; i++)
		use = use_of(symbols, i ? symbols_call_site(pcs[i]) : pcs[i]);
	wait->cause = use ? use->cause : WAIT_LOCK;
	if (!use || !(wait->owner_kinds & use->owner_kinds))
		wait->owner = 0;
	wait->owner_kinds = use ? use->owner_kinds : 0;
}

void wait_stack_forget(void)
{
	memset(remembered, 0, sizeof(remembered));
}
