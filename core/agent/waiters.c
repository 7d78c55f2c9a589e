/* Registry of own threads that block outside the agent's loop. */
#include "core/agent/waiters.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/privileges.h"
#include "core/shared.h"

struct waiter {
	void (*wake)(void *argument); /* NULL: free */
	void *argument;
};

static struct {
	pthread_mutex_t lock;
	struct waiter each[OWN_THREADS_MAX];
} waiters = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread struct waiter *own;

void waiters_add(void (*wake)(void *argument), void *argument)
{
	pthread_mutex_lock(&waiters.lock);
	for (size_t i = 0; i < OWN_THREADS_MAX && !own; i++)
		if (!waiters.each[i].wake)
			own = &waiters.each[i];
	if (own) {
		own->wake = wake;
		own->argument = argument;
		privileges_set_woken(true);
	}
	pthread_mutex_unlock(&waiters.lock);
}

void waiters_remove(void)
{
	pthread_mutex_lock(&waiters.lock);
	privileges_set_woken(false);
	if (own)
		own->wake = NULL;
	own = NULL;
	pthread_mutex_unlock(&waiters.lock);
}

void waiters_wake(void)
{
	if (!privileges_were_dropped())
		return;
	pthread_mutex_lock(&waiters.lock);
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		if (waiters.each[i].wake)
			waiters.each[i].wake(waiters.each[i].argument);
	pthread_mutex_unlock(&waiters.lock);
}
