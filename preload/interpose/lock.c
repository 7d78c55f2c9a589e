/* Interposes the calls that wait for a mutex or a read-write lock, with ASPROF_AGENT_LOCK.
 *
 * They are not exported, so that a program without that setting calls the C library directly. With it, the constructor
 * writes their addresses to the import tables of the modules. Modules that the program loads later follow when it looks for
 * a symbol, as programs do right after loading a module.
 *
 * A free lock costs a look at its word. For a lock that is not free, the thread first waits for the delay of
 * engine/sample/lock_waits.h, by the function with a time limit. */
#include "preload/interpose/lock.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/loaded_symbol.h"
#include "core/system.h"
#include "engine/sample/lock_waits.h"
#include "preload/interpose/import_slots.h"
#include "preload/interpose/real.h"

/* Offsets in bytes. Sources: sysdeps/nptl/bits/struct_mutex.h and struct_rwlock.h of glibc, and
 * nptl/pthread_rwlock_common.c for the bits of the latter's word; src/internal/pthread_impl.h of musl. */
#define GLIBC_MUTEX_OWNER       8
#define GLIBC_MUTEX_TYPE        16
#define GLIBC_RWLOCK_WRITER     24
#define GLIBC_RWLOCK_IS_SHARED  28
#define GLIBC_RWLOCK_IS_WRITTEN 2u
#define GLIBC_RWLOCK_READER     8u /* one */
#define MUSL_MUTEX_TYPE         0
#define MUSL_MUTEX_WORD         4
#define MUSL_MUTEX_TYPES        15u         /* 0: a normal mutex, without an owner */
#define MUSL_RWLOCK_COUNT       0x7fffffffu /* all bits: it is written */
#define MUSL_RWLOCK_IS_WRITTEN  0x40000000u /* so many readers do not exist */
#define MUTEX_IS_SHARED         128u        /* in either type */
#define OWNER_MASK              0x3fffffffu

/* glibc has these bits since this version. */
#define GLIBC_RWLOCK_SINCE 25

enum lock_kind { KIND_MUTEX, KIND_READ, KIND_WRITE, KINDS };

/* The clock of a limit in pthread_mutex_timedlock(3), which has no such argument. */
#define CLOCK_OF_TIMED ((clockid_t)-1)

/* The C library's functions; NULL: it has none. */
static struct {
	int (*wait)(void *lock);
	int (*timed)(void *lock, const struct timespec *until);
	int (*clocked)(void *lock, clockid_t clock, const struct timespec *until);
} next[KINDS];

static struct {
	void *(*dlopen)(const char *file, int mode);
	void *(*dlsym)(void *handle, const char *name);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
} loader;

static uint32_t busy[KINDS]; /* a read-write lock is not free if its word has one of these bits */

static __thread pid_t own_tid __attribute__((tls_model("initial-exec")));
static __thread bool has_loaded __attribute__((tls_model("initial-exec")));

void lock_reset_in_child(void)
{
	own_tid = 0;
	lock_waits_set_interval(UINT64_MAX); /* until the child's engine starts */
}

static inline uint32_t word_of(const void *lock, size_t offset)
{
	return __atomic_load_n((const uint32_t *)((const char *)lock + offset), __ATOMIC_RELAXED);
}

/* The offset of the word with the owner's thread id; 0: there is none. The owner of a lock that processes share may be
 * a thread of another process. */
static size_t owner_offset(enum lock_kind kind, const void *lock)
{
	uint32_t type;

	if (kind != KIND_MUTEX)
		return !gnu_get_libc_version || word_of(lock, GLIBC_RWLOCK_IS_SHARED)
			       ? 0
			       : GLIBC_RWLOCK_WRITER;
	type = word_of(lock, gnu_get_libc_version ? GLIBC_MUTEX_TYPE : MUSL_MUTEX_TYPE);
	if (type & MUTEX_IS_SHARED)
		return 0;
	if (gnu_get_libc_version)
		return GLIBC_MUTEX_OWNER;
	return type & MUSL_MUTEX_TYPES ? MUSL_MUTEX_WORD : 0;
}

static uintptr_t owner_word(enum lock_kind kind, const void *lock)
{
	size_t offset = owner_offset(kind, lock);

	return offset ? (uintptr_t)lock + offset : 0;
}

/* True if the calling thread owns the lock: then it does not wait, or forever. */
static bool is_own(uintptr_t word)
{
	if (!own_tid)
		own_tid = system_thread();
	return word && (word_of((const void *)word, 0) & OWNER_MASK) == (uint32_t)own_tid;
}

static int lock_forward(enum lock_kind kind, void *lock, clockid_t clock,
			const struct timespec *until)
{
	if (!until)
		return next[kind].wait(lock);
	return clock == CLOCK_OF_TIMED ? next[kind].timed(lock, until)
				       : next[kind].clocked(lock, clock, until);
}

static uintptr_t function_of(enum lock_kind kind, clockid_t clock, const struct timespec *until)
{
	if (!until)
		return (uintptr_t)next[kind].wait;
	return clock == CLOCK_OF_TIMED ? (uintptr_t)next[kind].timed
				       : (uintptr_t)next[kind].clocked;
}

/* False also for a limit that the C library refuses. */
static bool limit_is_after(clockid_t clock, const struct timespec *until, uint64_t delay_ns)
{
	struct timespec now;
	int64_t seconds;

	if (!until)
		return true;
	if (until->tv_nsec < 0 || until->tv_nsec >= 1000000000 ||
	    clock_read(clock == CLOCK_OF_TIMED ? CLOCK_REALTIME : clock, &now) ||
	    __builtin_sub_overflow(until->tv_sec, now.tv_sec, &seconds))
		return false;
	if (seconds < 0 || seconds > INT32_MAX)
		return seconds > 0;
	return seconds * 1000000000 + until->tv_nsec - now.tv_nsec > (int64_t)delay_ns;
}

static int lock_wait_delay(enum lock_kind kind, void *lock, const struct lock_wait *wait,
			   clockid_t clock, const struct timespec *until)
{
	uint64_t end_ns = clock_realtime_ns() + wait->delay_ns;
	struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000u),
				.tv_nsec = (long)(end_ns % 1000000000u) };
	int err;

	if (!limit_is_after(clock, until, wait->delay_ns))
		return lock_forward(kind, lock, clock, until);
	err = next[kind].timed(lock, &end);
	if (err != ETIMEDOUT)
		return err;
	lock_wait_delayed(wait);
	return lock_forward(kind, lock, clock, until);
}

static COLD int lock_busy(enum lock_kind kind, void *lock, clockid_t clock,
			  const struct timespec *until)
{
	struct lock_wait wait = { .lock = (uintptr_t)lock,
				  .function = function_of(kind, clock, until),
				  .owner_word = owner_word(kind, lock) };
	int err;

	if (is_own(wait.owner_word) || !lock_wait_begin(&wait))
		return lock_forward(kind, lock, clock, until);
	err = lock_wait_delay(kind, lock, &wait, clock, until);
	lock_wait_end(&wait);
	return err;
}

/* ---- The calls ---- */

/* One function for each C library: if the offset is loaded too, the two loads are between the atomic instructions of
 * unlock and lock, which wait for them. */
static int mutex_lock(void *lock)
{
	if (__builtin_expect(!word_of(lock, 0), 1))
		return next[KIND_MUTEX].wait(lock);
	return lock_busy(KIND_MUTEX, lock, 0, NULL);
}

static int mutex_lock_of_musl(void *lock)
{
	if (__builtin_expect(!word_of(lock, MUSL_MUTEX_WORD), 1))
		return next[KIND_MUTEX].wait(lock);
	return lock_busy(KIND_MUTEX, lock, 0, NULL);
}

static bool mutex_is_free(const void *lock)
{
	return !word_of(lock, gnu_get_libc_version ? 0 : MUSL_MUTEX_WORD);
}

static int mutex_timedlock(void *lock, const struct timespec *until)
{
	if (mutex_is_free(lock))
		return next[KIND_MUTEX].timed(lock, until);
	return lock_busy(KIND_MUTEX, lock, CLOCK_OF_TIMED, until);
}

static int mutex_clocklock(void *lock, clockid_t clock, const struct timespec *until)
{
	if (mutex_is_free(lock))
		return next[KIND_MUTEX].clocked(lock, clock, until);
	return lock_busy(KIND_MUTEX, lock, clock, until);
}

#define RWLOCK_CALLS(kind, name)                                                                 \
	static int rwlock_##name(void *lock)                                                     \
	{                                                                                        \
		if (__builtin_expect(!(word_of(lock, 0) & busy[kind]), 1))                       \
			return next[kind].wait(lock);                                            \
		return lock_busy(kind, lock, 0, NULL);                                           \
	}                                                                                        \
	static int rwlock_timed##name(void *lock, const struct timespec *until)                  \
	{                                                                                        \
		if (!(word_of(lock, 0) & busy[kind]))                                            \
			return next[kind].timed(lock, until);                                    \
		return lock_busy(kind, lock, CLOCK_OF_TIMED, until);                             \
	}                                                                                        \
	static int rwlock_clock##name(void *lock, clockid_t clock, const struct timespec *until) \
	{                                                                                        \
		if (!(word_of(lock, 0) & busy[kind]))                                            \
			return next[kind].clocked(lock, clock, until);                           \
		return lock_busy(kind, lock, clock, until);                                      \
	}

RWLOCK_CALLS(KIND_READ, rdlock)
RWLOCK_CALLS(KIND_WRITE, wrlock)

static void redirect_modules(void);

/* These end in a jump: the C library finds the calling module by the return address. */
static void *lock_dlopen(const char *file, int mode)
{
	has_loaded = true;
	return loader.dlopen(file, mode);
}

/* One thread at a time: each makes pages writable and protects them again. */
static void redirect_loaded(void)
{
	static _Atomic pid_t redirecting; /* a process: its forked child has none of its threads */
	pid_t self = system_process(), holder = atomic_load(&redirecting);

	if (!has_loaded || holder == self ||
	    !atomic_compare_exchange_strong(&redirecting, &holder, self))
		return;
	has_loaded = false;
	redirect_modules();
	atomic_store(&redirecting, 0);
}

static void *lock_dlsym(void *handle, const char *name)
{
	redirect_loaded();
	return loader.dlsym(handle, name);
}

static void *lock_dlvsym(void *handle, const char *name, const char *version)
{
	redirect_loaded();
	return loader.dlvsym(handle, name, version);
}

/* ---- Import tables ---- */

static struct call {
	const char *name;
	void *function;
	void *next; /* pointer to the pointer to the C library's function */
	void *was;  /* that function; NULL: calls stay as they are */
} calls[] = {
	{ "pthread_mutex_lock", (void *)mutex_lock, &next[KIND_MUTEX].wait, NULL },
	{ "pthread_mutex_timedlock", (void *)mutex_timedlock, &next[KIND_MUTEX].timed, NULL },
	{ "pthread_mutex_clocklock", (void *)mutex_clocklock, &next[KIND_MUTEX].clocked, NULL },
	{ "pthread_rwlock_rdlock", (void *)rwlock_rdlock, &next[KIND_READ].wait, NULL },
	{ "pthread_rwlock_timedrdlock", (void *)rwlock_timedrdlock, &next[KIND_READ].timed, NULL },
	{ "pthread_rwlock_clockrdlock", (void *)rwlock_clockrdlock, &next[KIND_READ].clocked,
	  NULL },
	{ "pthread_rwlock_wrlock", (void *)rwlock_wrlock, &next[KIND_WRITE].wait, NULL },
	{ "pthread_rwlock_timedwrlock", (void *)rwlock_timedwrlock, &next[KIND_WRITE].timed, NULL },
	{ "pthread_rwlock_clockwrlock", (void *)rwlock_clockwrlock, &next[KIND_WRITE].clocked,
	  NULL },
	{ "dlopen", (void *)lock_dlopen, &loader.dlopen, NULL },
	{ "dlsym", (void *)lock_dlsym, &loader.dlsym, NULL },
	{ "dlvsym", (void *)lock_dlvsym, &loader.dlvsym, NULL },
};

#define CALLS (sizeof(calls) / sizeof(*calls))

/* A slot that was not called yet may have the address of a stub in its module. Other addresses are those of another
 * tool's functions. */
static int redirect_slot(const struct import_module *module, void **slot, const ElfW(Sym) * symbol,
			 const char *name, void *unused)
{
	uintptr_t now = (uintptr_t)*slot;

	(void)unused;
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].was && !strcmp(name, calls[i].name) && symbol->st_shndx == SHN_UNDEF &&
		    (now == (uintptr_t)calls[i].was || (now >= module->low && now < module->high)))
			import_slot_set(module, slot, calls[i].function);
	return 0;
}

/* glibc unloads no module meanwhile; musl unloads none at all. */
static int redirect_module(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct import_module module;

	(void)size;
	(void)unused;
	import_module_read(&module, info);
	if (module.dynamic && !is_agent_code((const void *)module.dynamic))
		import_slots_visit(&module, redirect_slot, NULL);
	return 0;
}

static void redirect_modules(void)
{
	dl_iterate_phdr(redirect_module, NULL);
}

/* Find the C library's functions. A call whose first definition is another one stays as it is: another tool wraps it, or
 * the program has its own. */
static void calls_find(void)
{
	for (size_t i = 0; i < CALLS; i++) {
		void *found = loaded_symbol_next(calls[i].name).address;

		if (!found || found != loaded_symbol_first(calls[i].name).address)
			continue;
		memcpy(calls[i].next, &found, sizeof(found));
		calls[i].was = found;
	}
}

/* The C library needs all functions of a kind for the calls of one of them. */
static void calls_drop_without_timed(void)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!next[i].timed || !next[i].wait)
			for (size_t j = 3 * i; j < 3 * i + 3; j++)
				calls[j].was = NULL;
}

/* The number after "2."; 0 if it is not such a version. */
static unsigned glibc_minor(void)
{
	const char *version = gnu_get_libc_version();
	unsigned minor = 0;

	if (version[0] != '2' || version[1] != '.')
		return 0;
	for (version += 2; *version >= '0' && *version <= '9'; version++)
		minor = minor * 10 + (unsigned)(*version - '0');
	return minor;
}

static void layout_find(void)
{
	if (!gnu_get_libc_version) {
		calls[0].function = (void *)mutex_lock_of_musl;
		busy[KIND_READ] = MUSL_RWLOCK_IS_WRITTEN;
		busy[KIND_WRITE] = MUSL_RWLOCK_COUNT;
	} else if (glibc_minor() >= GLIBC_RWLOCK_SINCE) {
		busy[KIND_READ] = GLIBC_RWLOCK_IS_WRITTEN;
		busy[KIND_WRITE] = GLIBC_RWLOCK_IS_WRITTEN | ~(GLIBC_RWLOCK_READER - 1);
	}
}

void lock_interpose(void)
{
	layout_find();
	calls_find();
	calls_drop_without_timed();
	redirect_modules();
}
