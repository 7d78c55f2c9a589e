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

struct memory {
	uintptr_t address;
	const struct use *use;
};

/* By a program counter, and by the address of a futex. */
static struct memory of_code[REMEMBERED], of_futexes[REMEMBERED];

static struct memory *memory_of(struct memory memory[REMEMBERED], uintptr_t address)
{
	return &memory[(address >> 2 ^ address >> 10) % REMEMBERED];
}

static const struct use *use_named(const char *name)
{
	for (size_t i = 0; i < COUNT(uses); i++)
		if (strstr(name, uses[i].name))
			return &uses[i];
	return NULL;
}

static const struct use *use_of(struct symbols *symbols, uintptr_t pc)
{
	struct memory *memory = memory_of(of_code, pc);
	struct symbol symbol;

	if (memory->address == pc)
		return memory->use;
	if (symbols_resolve(symbols, &pc, 1, &symbol))
		return NULL;
	*memory = (struct memory){ pc, use_named(symbol.name) };
	return memory->use;
}

void wait_set_cause_by_stack(struct wait *wait, struct symbols *symbols, const uintptr_t *pcs,
			     size_t count)
{
	struct memory *memory = memory_of(of_futexes, wait->lock);
	const struct use *use = NULL;

	if (!wait->is_futex || wait->cause == WAIT_GIL || !symbols)
		return;
	for (size_t i = 0; i < count && i < FRAMES_MAX && !use; i++)
		use = use_of(symbols, i ? symbols_call_site(pcs[i]) : pcs[i]);
	if (use)
		*memory = (struct memory){ wait->lock, use };
	else if (wait->lock && memory->address == wait->lock)
		use = memory->use;
	if (use)
		wait->cause = use->cause;
	if (!use || !(wait->owner_kinds & use->owner_kinds))
		wait->owner = 0;
	wait->owner_kinds = use ? use->owner_kinds : 0;
}

void wait_stack_forget(void)
{
	memset(of_code, 0, sizeof(of_code));
	memset(of_futexes, 0, sizeof(of_futexes));
}
