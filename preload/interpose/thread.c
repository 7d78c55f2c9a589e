/* Interposes the functions that make threads, to run a hook in each new thread first. */
#include "preload/interpose/thread.h"

#include <errno.h>
#include <stdlib.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

/* What the new thread is to do; it frees it. */
struct start {
	union {
		void *(*pthread)(void *);
		thrd_start_t thrd;
	} routine;
	void *arg;
	uint64_t believed; /* inherited, as the mask is */
};

static pthread_key_t end_key;
static bool end_key_made;

/* There on glibc, whose thread descriptor lies on the thread's own stack, above all frames. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

uintptr_t thread_stack_high(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uintptr_t self = (uintptr_t)pthread_self();

	return gnu_get_libc_version && self > frame ? self : frame;
}

static void tell_end(void *unused)
{
	const struct interpose_hooks *hooks = hooks_get();

	(void)unused;
	if (hooks)
		hooks->thread_ended();
}

int thread_key_create(void)
{
	int err = 0;

	if (!end_key_made) {
		err = pthread_key_create(&end_key, tell_end);
		end_key_made = !err;
	}
	return -err;
}

void thread_tell_end(void)
{
	/* The value only has to differ from NULL. */
	if (end_key_made)
		pthread_setspecific(end_key, &end_key);
}

static struct start begin(void *p)
{
	struct start start = *(struct start *)p;
	const struct interpose_hooks *hooks = hooks_get();
	int state;

	free(p);
	mask_believe(start.believed);
	if (hooks) {
		/* A thread cancelled this early must not die with the hook half done. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		hooks->thread_started(thread_stack_high());
		thread_tell_end();
		pthread_setcancelstate(state, NULL);
	}
	return start;
}

/* Both end in a tail call, so that no frame of ours stands in the program's stacks. */
static void *start_pthread(void *p)
{
	struct start start = begin(p);

	return start.routine.pthread(start.arg);
}

static int start_thrd(void *p)
{
	struct start start = begin(p);

	return start.routine.thrd(start.arg);
}

/* NULL when the thread is to be made as it is: not the program's, nobody to tell, or no memory;
 * the thread matters more. */
static struct start *start_new(void *arg, const void *caller)
{
	struct start *start;

	if (!hooks_get() || caller_is_agent(caller) || sample_in_engine(caller))
		return NULL;
	start = malloc(sizeof(*start));
	if (start) {
		start->arg = arg;
		start->believed = mask_believed();
	}
	return start;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			  void *arg)
{
	struct start *start = start_new(arg, __builtin_return_address(0));
	int err;

	if (!start)
		return REAL(pthread_create)(thread, attr, routine, arg);
	start->routine.pthread = routine;
	err = REAL(pthread_create)(thread, attr, start_pthread, start);
	if (err)
		free(start);
	return err;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	struct start *start = start_new(arg, __builtin_return_address(0));
	int result;

	if (!start)
		return REAL(thrd_create)(thread, routine, arg);
	start->routine.thrd = routine;
	result = REAL(thrd_create)(thread, start_thrd, start);
	if (result != thrd_success)
		free(start);
	return result;
}
