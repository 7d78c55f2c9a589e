/* The threads of ours that sleep in ways of their own. */
#include "core/agent/waiters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/privileges.h"

struct waiter {
	void (*wake)(void *argument); /* NULL: nobody's */
	void *argument;
	_Atomic uint32_t followed; /* the change that it has followed last */
};

static struct {
	pthread_mutex_t lock;
	struct waiter each[FOLLOWERS_MAX];
} followers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread struct waiter *own;

void waiters_add(void (*wake)(void *argument), void *argument)
{
	pthread_mutex_lock(&followers.lock);
	for (size_t i = 0; i < FOLLOWERS_MAX && !own; i++)
		if (!followers.each[i].wake)
			own = &followers.each[i];
	if (own) {
		atomic_store(&own->followed, privileges_changes());
		own->wake = wake;
		own->argument = argument;
		privileges_set_woken(&own->followed);
	}
	pthread_mutex_unlock(&followers.lock);
}

void waiters_remove(void)
{
	pthread_mutex_lock(&followers.lock);
	privileges_set_woken(NULL);
	if (own)
		own->wake = NULL;
	own = NULL;
	pthread_mutex_unlock(&followers.lock);
}

static bool all_have_followed(uint32_t changes)
{
	bool all = true;

	pthread_mutex_lock(&followers.lock);
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (followers.each[i].wake)
			all &= (int32_t)(atomic_load(&followers.each[i].followed) - changes) >= 0;
	pthread_mutex_unlock(&followers.lock);
	return all;
}

void waiters_wake(uint64_t timeout_ns)
{
	static const struct timespec a_moment = { .tv_nsec = 100000 };
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t changes = privileges_changes();

	if (!privileges_gave_up())
		return;
	pthread_mutex_lock(&followers.lock);
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (followers.each[i].wake)
			followers.each[i].wake(followers.each[i].argument);
	pthread_mutex_unlock(&followers.lock);
	while (!all_have_followed(changes) && clock_monotonic_ns() < deadline)
		kernel_call4(SYS_nanosleep, (long)&a_moment, 0, 0, 0);
}
