/* Own threads: the threads of the agent. */
#include "core/own_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/format.h"
#include "core/old_symbol.h"
#include "core/own_fds.h"
#include "core/shared.h"
#include "core/system.h"

OLD_SYMBOL(pthread_attr_setstack, "2.2.5")

/* Values of a slot whose thread has no id yet: the thread may not exist, or it exists. */
#define STARTING (-1)
#define STARTED  (-2)

struct start {
	char name[16];
	void *(*run)(void *);
	void *argument;
	_Atomic pid_t *slot;
	enum own_fds fds;
};

static __thread bool own;

/* Reserve a slot; NULL when none is free. */
static _Atomic pid_t *slot_reserve(void)
{
	for (size_t i = 0; i < OWN_THREADS_MAX; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&shared->own_threads[i], &none, STARTING))
			return &shared->own_threads[i];
	}
	return NULL;
}

static void own_thread_note_end(size_t place)
{
	atomic_store(&shared->ended_threads[place], system_thread());
}

void own_thread_agent_ends(void)
{
	own_thread_note_end(OWN_THREADS_MAX);
}

static void *own_thread_main(void *argument)
{
	struct start start = *(struct start *)argument;
	void *result;

	own = true;
	clock_permit_ticks();
	system_thread_reset_scheduling();
	own_fds_inherit(start.fds);
	atomic_store(start.slot, system_thread());
	kernel_call4(SYS_prctl, PR_SET_NAME, (long)start.name, 0, 0);
	result = start.run(start.argument);
	own_thread_note_end((size_t)(start.slot - shared->own_threads));
	atomic_store(start.slot, 0);
	return result;
}

/* Longest wait for a slot's last thread, which has released the slot but still uses its stack. */
#define UNUSED_CHECKS_MAX 1000
#define UNUSED_POLL_NS    100000u

/* The stack of each slot, with its guard page. It stays until the slot's next thread starts, because a thread cannot
 * unmap its own stack. */
static struct stack {
	char *memory;
	size_t bytes;
} stacks[OWN_THREADS_MAX];

/* Space that the thread sanitizer needs on each stack. */
#ifdef __SANITIZE_THREAD__
#define SANITIZER_BYTES ((size_t)1 << 20)
#else
#define SANITIZER_BYTES 0
#endif

static bool own_thread_wait_for_stack(size_t place)
{
	pid_t tid = atomic_load(&shared->ended_threads[place]);

	for (int i = 0; tid && !system_thread_is_gone(tid); i++) {
		if (i == UNUSED_CHECKS_MAX)
			return false;
		system_sleep(UNUSED_POLL_NS);
	}
	return true;
}

/* Allocate the thread's stack: for the C library's the kernel would choose an address. Returns 0 or -errno. */
static int own_thread_set_stack(pthread_attr_t *attr, size_t place, size_t bytes)
{
	struct stack *stack = &stacks[place];

	bytes += SANITIZER_BYTES;
	if (!own_thread_wait_for_stack(place))
		return -EAGAIN;
	if (stack->memory)
		system_unmap(stack->memory, stack->bytes);
	stack->bytes = ARCH_PAGE_MAX + bytes;
	stack->memory = system_map(stack->bytes);
	if (!stack->memory)
		return -ENOMEM;
	kernel_call4(SYS_mprotect, (long)stack->memory, ARCH_PAGE_MAX, PROT_NONE, 0);
#ifdef ASPROF_IMAGE
	/* Only in the image: the program's C library keeps its list of threads on their stacks, and fork(3) reads it
	 * in the child. */
	system_empty_in_children(stack->memory + ARCH_PAGE_MAX, bytes);
#endif
	return -pthread_attr_setstack(attr, stack->memory + ARCH_PAGE_MAX, bytes);
}

static int own_thread_create(struct start *start, size_t stack_bytes)
{
	sigset_t every;
	uint64_t before;
	bool was_own = own;
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = own_thread_set_stack(&attr, (size_t)(start->slot - shared->own_threads), stack_bytes);
	if (err)
		goto out;
	own = true; /* so that the preload's pthread_create() ignores this thread */
	/* The new thread inherits the blocked signals. sigfillset() omits the signals by which the C library changes
	 * users in all threads; in the image these are blocked already. */
	sigfillset(&every);
	kernel_call4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&every, (long)&before, sizeof(before));
	err = -pthread_create(&thread, &attr, own_thread_main, start);
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before));
	own = was_own;
out:
	pthread_attr_destroy(&attr);
	return err;
}

int own_thread_start(const char *name, void *(*run)(void *), void *argument)
{
	return own_thread_start_on(OWN_THREAD_STACK_SIZE, name, run, argument);
}

int own_thread_start_on(size_t stack_bytes, const char *name, void *(*run)(void *), void *argument)
{
	/* Start parameters of each slot; free when the slot is. */
	static struct start starts[OWN_THREADS_MAX];
	_Atomic pid_t *slot = slot_reserve();
	struct start *start;
	pid_t starting = STARTING;
	int err;

	if (!slot)
		return -EAGAIN;
	start = &starts[slot - shared->own_threads];
	*start = (struct start){
		.run = run, .argument = argument, .slot = slot, .fds = own_fds_here()
	};
	format_text(start->name, sizeof(start->name), "%s", name);
	err = own_thread_create(start, stack_bytes);
	if (err)
		atomic_store(slot, 0);
	else
		atomic_compare_exchange_strong(slot, &starting, STARTED);
	return err;
}

bool own_thread_is(void)
{
	return own;
}

void own_thread_adopt(void)
{
	own = true;
}

bool own_thread_has_id(pid_t tid)
{
	if (atomic_load(&shared->agent.id) == tid)
		return true;
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		if (atomic_load(&shared->own_threads[i]) == tid)
			return true;
	return false;
}

uint32_t own_thread_count(void)
{
	uint32_t count = atomic_load(&shared->agent.id) != 0;

	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		count += atomic_load(&shared->own_threads[i]) != 0;
	return count;
}

/* Return the kernel's clock id of the CPU time of thread TID in this process. Source: linux/posix-timers.h. */
static clockid_t thread_clock_id(pid_t tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 4 | 2);
}

static uint64_t thread_count_cpu(pid_t tid, unsigned *count)
{
	struct timespec used;

	if (tid <= 0 || clock_read(thread_clock_id(tid), &used))
		return 0;
	++*count;
	return clock_time_ns(&used);
}

uint64_t own_thread_cpu_ns(unsigned *count)
{
	uint64_t ns;

	*count = 0;
	ns = thread_count_cpu(atomic_load(&shared->agent.id), count);
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		ns += thread_count_cpu(atomic_load(&shared->own_threads[i]), count);
	return ns;
}

bool own_thread_is_starting(void)
{
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		if (atomic_load(&shared->own_threads[i]) == STARTING)
			return true;
	return false;
}

bool own_thread_none_left(void)
{
	if (own_thread_count())
		return false;
	for (size_t i = 0; i <= OWN_THREADS_MAX; i++) {
		pid_t tid = atomic_load(&shared->ended_threads[i]);

		if (tid && !system_thread_is_gone(tid))
			return false;
		atomic_compare_exchange_strong(&shared->ended_threads[i], &tid, 0);
	}
	return true;
}

bool own_thread_is_settled(void)
{
	for (size_t i = 0; i <= OWN_THREADS_MAX; i++) {
		pid_t tid = atomic_load(&shared->ended_threads[i]);

		if (tid && !system_thread_is_gone(tid))
			return false;
		if (i < OWN_THREADS_MAX && atomic_load(&shared->own_threads[i]) < 0)
			return false;
	}
	return true;
}

void own_thread_forget(void)
{
	own = false;
	atomic_store(&shared->agent.id, 0);
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		atomic_store(&shared->own_threads[i], 0);
	for (size_t i = 0; i <= OWN_THREADS_MAX; i++)
		atomic_store(&shared->ended_threads[i], 0);
}
