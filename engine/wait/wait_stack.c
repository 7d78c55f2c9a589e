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
	{ "Thread>::park", WAIT_CONDITION, 0 },
	{ "thread::functions::park", WAIT_CONDITION, 0 },
	{ "thread::park", WAIT_CONDITION, 0 },
	/* Go's runtime: a thread without work. */
	{ "runtime.stopm", WAIT_IDLE, 0 },
	{ "runtime.mPark", WAIT_IDLE, 0 },
	{ "runtime.templateThread", WAIT_IDLE, 0 },
	{ "runtime.sysmon", WAIT_SLEEP, 0 },
	{ "runtime.usleep", WAIT_SLEEP, 0 },
};

/* Addresses whose uses are not remembered may be named so often in a chunk: each time reads the symbols of a
 * module. */
#define NAMINGS_MAX 100

/* What is remembered in this chunk, by a hash of the address. */
static struct {
	unsigned namings;
	struct code {
		uintptr_t pc;
		const struct use *use;
	} codes[REMEMBERED];
	struct futex {
		uintptr_t address;
		const struct use *use;
		bool is_named;
		char name[48]; /* of the variable; "" if it is none */
	} futexes[REMEMBERED];
} memory;

static size_t memory_slot(uintptr_t address)
{
	return (address >> 2 ^ address >> 10) % REMEMBERED;
}

static const struct use *use_named(const char *name)
{
	for (size_t i = 0; i < COUNT(uses); i++)
		if (strstr(name, uses[i].name))
			return &uses[i];
	return NULL;
}

/* Remember the uses of COUNT program counters. */
static void remember_code(struct symbols *symbols, const uintptr_t *pcs, size_t count)
{
	struct symbol names[FRAMES_MAX];
	uintptr_t unknown[FRAMES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (memory.codes[memory_slot(pcs[i])].pc != pcs[i])
			unknown[n++] = pcs[i];
	if (!n || memory.namings >= NAMINGS_MAX)
		return;
	memory.namings++;
	if (symbols_resolve(symbols, unknown, n, names))
		return;
	for (size_t i = 0; i < n; i++)
		memory.codes[memory_slot(unknown[i])] =
			(struct code){ unknown[i], use_named(names[i].name) };
}

/* The use by the innermost known function of the stack; NULL if there is none. */
static const struct use *use_by_stack(struct symbols *symbols, const uintptr_t *pcs, size_t count)
{
	const struct use *use = NULL;
	uintptr_t sites[FRAMES_MAX];
	const struct code *code;

	if (count > FRAMES_MAX)
		count = FRAMES_MAX;
	for (size_t i = 0; i < count; i++)
		sites[i] = i ? symbols_call_site(pcs[i]) : pcs[i];
	remember_code(symbols, sites, count);
	for (size_t i = 0; i < count && !use; i++) {
		code = &memory.codes[memory_slot(sites[i])];
		use = code->pc == sites[i] ? code->use : NULL;
	}
	return use;
}

static struct futex *futex_at(uintptr_t address)
{
	struct futex *futex = &memory.futexes[memory_slot(address)];

	if (futex->address != address)
		*futex = (struct futex){ .address = address };
	return futex;
}

/* Name the lock by the variable that contains it. */
static void wait_name_lock(struct wait *wait, struct symbols *symbols, struct futex *futex)
{
	if (!futex->is_named && memory.namings < NAMINGS_MAX) {
		memory.namings++;
		futex->is_named = true;
		if (symbols_variable(symbols, futex->address, futex->name, sizeof(futex->name)))
			futex->name[0] = '\0';
	}
	if (!wait->object && futex->name[0] &&
	    asprintf(&wait->object, "lock 0x%lx %s", (unsigned long)wait->lock, futex->name) < 0)
		wait->object = NULL;
}

void wait_set_cause_by_stack(struct wait *wait, struct symbols *symbols, const uintptr_t *pcs,
			     size_t count)
{
	uintptr_t key = wait->lock ? wait->lock : wait->first;
	const struct use *use;
	struct futex *futex;

	if (!wait->is_futex || wait->cause == WAIT_GIL || !symbols)
		return;
	use = use_by_stack(symbols, pcs, count);
	futex = futex_at(key);
	if (use)
		futex->use = use;
	else if (key)
		use = futex->use;
	if (use)
		wait->cause = use->cause;
	if (wait->cause == WAIT_LOCK && wait->lock)
		wait_name_lock(wait, symbols, futex);
	if (!use || !(wait->owner_kinds & use->owner_kinds))
		wait->owner = 0;
	wait->owner_kinds = use ? use->owner_kinds : 0;
	wait->is_handed_over &= wait->owner_kinds == RWLOCK;
}

void wait_stack_forget(void)
{
	memset(&memory, 0, sizeof(memory));
}
