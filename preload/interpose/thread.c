/* Interposes the functions that make threads, to run a hook in each new thread first. */
#include <limits.h>

#include "asyncprof/thread_list.h"
#include "core/old_symbol.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

OLD_SYMBOL(pthread_key_create, "2.2.5")
OLD_SYMBOL(pthread_setspecific, "2.2.5")
OLD_SYMBOL(pthread_attr_getstacksize, "2.2.5")
OLD_SYMBOL(pthread_attr_getguardsize, "2.2.5")

/* What the new thread is to do; it gives it back. */
struct start {
	union {
		void *(*pthread)(void *);
		thrd_start_t thrd;
	} routine;
	void *arg;
	bool counts;                 /* among the program's */
	struct engine_thread *place; /* of one that does not */
	uint64_t program_blocked;    /* inherited, as the mask is */
	void *signal_stack;          /* see altstack.h */
	size_t stack_size;           /* mapped for certain below stack_high() */
};

/* Most come from here: memory that one thread allocates and another frees has an allocator such
 * as jemalloc set up an arena for threads that would never have asked for one. */
static struct start starts[64];
static uint64_t starts_used; /* a bit for each */

/* Of a stack's size, what may lie above stack_high(): thread-local storage, mostly. */
#define STACK_SLACK (16u << 10)

static pthread_key_t end_key;
static bool end_key_made;

/* Threads of the program that are there, as far as we have made them, and the main thread. */
static uint32_t alive = 1;
static __thread bool counts __attribute__((tls_model("initial-exec")));

/* There on glibc, whose thread descriptor lies on the thread's own stack, above all frames. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* In the calling thread, from a frame near its stack's beginning: an address such that all up
 * to it can be read, and that the frames of the C library's own start routine lie below. */
static uintptr_t stack_high(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uintptr_t self = (uintptr_t)pthread_self();

	return gnu_get_libc_version && self > frame ? self : frame;
}

uint32_t thread_alive_count(void)
{
	return __atomic_load_n(&alive, __ATOMIC_RELAXED);
}

/* The C library ends the process with the last thread that it counts. */
static void count_end(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (!__atomic_sub_fetch(&alive, 1, __ATOMIC_ACQ_REL) && hooks)
		hooks->before_last_thread_ends();
}

/* Destructors of the program's data run in each of the rounds that the C library makes, and may set it anew; so the
 * end is told in the last one. The value is the number of the round that comes. */
static void thread_notify_end(void *round)
{
	const struct interpose_hooks *hooks = hooks_get();
	uintptr_t next = (uintptr_t)round + 1;

	if (next <= PTHREAD_DESTRUCTOR_ITERATIONS &&
	    !pthread_setspecific(end_key, (const void *)next))
		return;
	if (hooks)
		hooks->thread_ended();
	altstack_remove();
	async_profiler_thread_ended();
	if (counts)
		count_end();
}

static pthread_key_t main_key;

/* Not where it returns from main(). */
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

/* Before the first thread that the program makes, so there is nobody to make a second one. */
static void make_end_key(void)
{
	static bool tried;

	if (!tried && pthread_key_create && pthread_setspecific)
		end_key_made = !pthread_key_create(&end_key, thread_notify_end);
	tried = true;
}

/* As if we had made the calling thread. */
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
		bit = ~used & (used + 1); /* the lowest that is free */
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
	if (start->counts)
		__atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
	async_profiler_thread_created(start->place, false);
	altstack_free(start->signal_stack);
	start_free(start);
}

static struct start thread_begin(void *p)
{
	struct start start = *(struct start *)p;
	const struct interpose_hooks *hooks = hooks_get();
	uintptr_t high = stack_high();
	int state;

	start_free(p);
	counts = start.counts;
	async_profiler_thread_started(start.place);
	mask_set_program_blocked(start.program_blocked);
	altstack_install(start.signal_stack, high - start.stack_size, high);
	/* (Where there is no key left for its end it is found by looking, and so is its end.) */
	if (hooks && end_key_made) {
		/* A thread cancelled this early must not die with the hook half done. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		hooks->thread_started(high - start.stack_size, high,
				      (uintptr_t)start.routine.pthread);
		thread_watch_end();
		pthread_setcancelstate(state, NULL);
	}
	return start;
}

/* Both end in a tail call, so that no frame of ours stands in the program's stacks. */
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

/* Of a stack as ATTR has it, NULL for the default, what can be relied on. */
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

/* NULL when the thread is to be made as it is: not the program's, nobody to tell, or no memory;
 * the thread matters more. */
static struct start *start_new(const pthread_attr_t *attr, void *arg, const void *caller)
{
	struct start *start;

	if (!hooks_get() || is_agent_code(caller))
		return NULL;
	make_end_key();
	start = start_allocate();
	if (start) {
		start->arg = arg;
		/* Before the thread's own stack is mapped, which then mostly lies below. */
		start->signal_stack = altstack_allocate();
		start->stack_size = stack_size(attr);
		start->program_blocked = mask_program_blocked();
		/* (The program's come by a function of async-profiler's, too.) */
		start->counts = !own_thread_is();
		start->place = start->counts ? NULL : async_profiler_thread_allocate();
		if (start->counts)
			__atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
	}
	return start;
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
