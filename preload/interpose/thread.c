/* Interposes the functions that create threads, to run a hook first in each new thread. */
#include <errno.h>
#include <limits.h>

#include "core/agent/async_profiler.h"
#include "core/old_symbol.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "core/timer/thread_timer.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

OLD_SYMBOL(pthread_key_create, "2.2.5")
OLD_SYMBOL(pthread_setspecific, "2.2.5")
OLD_SYMBOL(pthread_attr_setstack, "2.2.5")
OLD_SYMBOL(pthread_attr_getstacksize, "2.2.5")
OLD_SYMBOL(pthread_attr_getguardsize, "2.2.5")
OLD_SYMBOL(pthread_getcpuclockid, "2.2.5")

/* Start parameters of a new thread, which frees them. */
struct start {
	union {
		void *(*pthread)(void *);
		thrd_start_t thrd;
	} routine;
	void *arg;
	bool is_counted;             /* it is the program's */
	struct engine_thread *place; /* of a thread that is not the program's */
	uint64_t program_blocked;    /* blocked sampling signals, inherited like the mask */
	void *signal_stack;          /* see altstack.h */
	size_t stack_size;           /* bytes below stack_high() that are certainly mapped */
};

/* Most parameters are here. If one thread allocated memory and another freed it, an allocator such as jemalloc would
 * create an arena for threads that allocate nothing themselves. */
static struct start starts[64];
static uint64_t starts_used; /* a bit for each */

/* Maximum part of a stack above stack_high(): mostly thread-local storage. */
#define STACK_SLACK (16u << 10)

static pthread_key_t end_key;
static bool end_key_made;

/* The program's threads: the main thread, and threads created here. */
static uint32_t alive_count = 1;
static __thread bool is_counted __attribute__((tls_model("initial-exec")));

/* In the calling thread, from a frame near the beginning of its stack: return an address above the frames of the C
 * library's start routine, so that everything below it is readable. (glibc has the thread descriptor on the thread's own
 * stack, above all frames.) */
static uintptr_t stack_high(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uintptr_t self = (uintptr_t)pthread_self();

	return gnu_get_libc_version && self > frame ? self : frame;
}

uint32_t thread_alive_count(void)
{
	return __atomic_load_n(&alive_count, __ATOMIC_RELAXED);
}

/* The C library ends the process with the last thread that it counts. */
static void count_end(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (!__atomic_sub_fetch(&alive_count, 1, __ATOMIC_ACQ_REL) && hooks)
		hooks->before_last_thread_ends();
}

/* The C library runs destructors of thread-specific data in several rounds, and the program's may set data again. The
 * end is notified in the second round, after each destructor has run. (A further round takes 70 ns of each thread,
 * as much as half a system call.) The value is the number of the next round. */
#define END_ROUND 2

static void thread_notify_end(void *round)
{
	const struct interpose_hooks *hooks = hooks_get();
	uintptr_t next = (uintptr_t)round + 1;

	if (next <= END_ROUND && !pthread_setspecific(end_key, (const void *)next))
		return;
	if (hooks)
		hooks->thread_ended();
	altstack_remove();
	async_profiler_thread_ended();
	if (is_counted)
		count_end();
}

static pthread_key_t main_key;

/* Not when the main thread returns from main(). */
static void main_notify_end(void *round)
{
	uintptr_t next = (uintptr_t)round + 1;

	if (next > PTHREAD_DESTRUCTOR_ITERATIONS ||
	    pthread_setspecific(main_key, (const void *)next))
		count_end();
}

void thread_watch_main(void)
{
	static bool watched;

	if (watched || system_thread() != system_process() || !pthread_key_create ||
	    !pthread_setspecific)
		return;
	watched = true;
	if (!pthread_key_create(&main_key, main_notify_end))
		pthread_setspecific(main_key, (const void *)1);
}

/* Before the program's first thread, so no other thread does this at the same time. */
static void make_end_key(void)
{
	static bool tried;

	if (!tried && pthread_key_create && pthread_setspecific)
		end_key_made = !pthread_key_create(&end_key, thread_notify_end);
	tried = true;
}

/* As if the calling thread had been created here. */
static void thread_watch_end(void)
{
	pthread_setspecific(end_key, (const void *)1);
}

static struct start *start_allocate(void)
{
	uint64_t used = __atomic_load_n(&starts_used, __ATOMIC_RELAXED), bit;

	do {
		if (used == UINT64_MAX)
			return system_map(sizeof(struct start));
		bit = ~used & (used + 1); /* the lowest free bit */
	} while (!__atomic_compare_exchange_n(&starts_used, &used, used | bit, true,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return &starts[__builtin_ctzll(bit)];
}

static void start_free(struct start *start)
{
	if (start >= starts && start < starts + sizeof(starts) / sizeof(starts[0]))
		__atomic_fetch_and(&starts_used, ~(UINT64_C(1) << (start - starts)),
				   __ATOMIC_RELEASE);
	else
		system_unmap(start, sizeof(*start));
}

static void start_undo(struct start *start)
{
	if (start->is_counted)
		__atomic_fetch_sub(&alive_count, 1, __ATOMIC_RELAXED);
	async_profiler_thread_created(start->place, false);
	altstack_free(start->signal_stack);
	start_free(start);
}

/* The calling thread's id, without a system call: the C library knows it. */
static pid_t thread_id(void)
{
	clockid_t clock = 0;
	pid_t tid;

	if (pthread_getcpuclockid)
		pthread_getcpuclockid(pthread_self(), &clock);
	tid = ~(clock >> 3);
	return thread_timer_cpu_clock(tid) == clock ? tid : system_thread();
}

static struct start thread_begin(void *p)
{
	struct start start = *(struct start *)p;
	const struct interpose_hooks *hooks = hooks_get();
	uintptr_t high = stack_high();
	int state;

	start_free(p);
	is_counted = start.is_counted;
	async_profiler_thread_started(start.place);
	mask_set_program_blocked(start.program_blocked);
	altstack_install(start.signal_stack, high - start.stack_size, high);
	/* (Without a key the thread is found by a search, and so is its end.) */
	if (hooks && end_key_made) {
		/* A thread that is canceled this early must not end within the hook. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		hooks->thread_started(thread_id(), high - start.stack_size, high,
				      (uintptr_t)start.routine.pthread);
		thread_watch_end();
		pthread_setcancelstate(state, NULL);
	}
	return start;
}

/* Both end in a tail call, so that no frame of the agent is on the program's stack. */
static void *start_pthread(void *p)
{
	struct start start = thread_begin(p);

	return start.routine.pthread(start.arg);
}

static int start_thrd(void *p)
{
	struct start start = thread_begin(p);

	return start.routine.thrd(start.arg);
}

/* Return the usable stack size by ATTR; NULL for the default. */
static size_t stack_size(const pthread_attr_t *attr)
{
	size_t size = 0, guard = 0;
	pthread_attr_t standard;

	if (!pthread_attr_getstacksize || !pthread_attr_getguardsize)
		return 0;
	if (!attr) {
		if (pthread_attr_init(&standard))
			return 0;
		attr = &standard;
	}
	pthread_attr_getstacksize(attr, &size);
	pthread_attr_getguardsize(attr, &guard);
	if (attr == &standard)
		pthread_attr_destroy(&standard);
	return size > guard + STACK_SLACK ? size - guard - STACK_SLACK : 0;
}

/* Return NULL if the thread is not the program's, there are no hooks, or there is no memory: then it is created
 * without a hook. */
static struct start *start_new(const pthread_attr_t *attr, void *arg, const void *caller)
{
	struct start *start;

	if (!hooks_get() || is_agent_code(caller))
		return NULL;
	make_end_key();
	start = start_allocate();
	if (start) {
		start->arg = arg;
		/* Before the thread's own stack is mapped, which is then mostly below. */
		start->signal_stack = altstack_allocate();
		start->stack_size = stack_size(attr);
		start->program_blocked = mask_program_blocked();
		/* (async-profiler's function also creates the program's threads.) */
		start->is_counted = !own_thread_is();
		start->place = start->is_counted ? NULL : async_profiler_thread_allocate();
		if (start->is_counted)
			__atomic_fetch_add(&alive_count, 1, __ATOMIC_RELAXED);
	}
	return start;
}

/* Create a thread of async-profiler on a stack in the region, not at an address of the kernel's choice. */
static int create_in_region(pthread_t *thread, struct start *start)
{
	size_t bytes;
	void *stack = async_profiler_thread_stack(start->place, &bytes);
	pthread_attr_t attr;
	int err = stack ? pthread_attr_init(&attr) : EAGAIN;

	if (err)
		return err;
	start->stack_size = bytes - STACK_SLACK;
	err = pthread_attr_setstack(&attr, stack, bytes);
	if (!err)
		err = REAL(pthread_create)(thread, &attr, start_pthread, start);
	pthread_attr_destroy(&attr);
	return err;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			  void *arg)
{
	struct start *start = start_new(attr, arg, __builtin_return_address(0));
	struct engine_thread *place;
	int err;

	if (!start)
		return REAL(pthread_create)(thread, attr, routine, arg);
	start->routine.pthread = routine;
	place = start->place;
	if (place && !attr)
		err = create_in_region(thread, start);
	else
		err = REAL(pthread_create)(thread, attr, start_pthread, start);
	if (err)
		start_undo(start);
	else
		async_profiler_thread_created(place, true);
	return err;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	struct start *start = start_new(NULL, arg, __builtin_return_address(0));
	int result;

	if (!start)
		return REAL(thrd_create)(thread, routine, arg);
	start->routine.thrd = routine;
	result = REAL(thrd_create)(thread, start_thrd, start);
	if (result != thrd_success)
		start_undo(start);
	return result;
}
