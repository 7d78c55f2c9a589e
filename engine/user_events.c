/* Events of the program's own making. Names are few and never forgotten: an array that only
 * grows, read without a lock. */
#include "engine/user_events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "engine/ring.h"

#define NAMES_MAX 1024

static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
static const char *names[NAMES_MAX];
static _Atomic int name_count;

asprof_jfr_event_key user_event_register(const char *name)
{
	int key = -1, count;
	char *copy;

	pthread_mutex_lock(&registering);
	count = atomic_load(&name_count);
	for (int i = 0; i < count; i++) {
		if (!strcmp(names[i], name)) {
			key = i;
			goto out;
		}
	}
	copy = count < NAMES_MAX ? strdup(name) : NULL;
	if (!copy)
		goto out;
	names[count] = copy;
	atomic_store_explicit(&name_count, count + 1, memory_order_release);
	key = count;
out:
	pthread_mutex_unlock(&registering);
	return key;
}

const char *user_event_name(asprof_jfr_event_key key)
{
	return names[key];
}

asprof_error_t user_event_emit(asprof_jfr_event_key key, const uint8_t *data, size_t length)
{
	pid_t tid = gettid();
	struct sample *sample;

	if (key < 0 || key >= atomic_load_explicit(&name_count, memory_order_acquire))
		return "unknown event key";
	if (length > ASPROF_MAX_JFR_EVENT_LENGTH)
		return "event data longer than 2048 bytes";
	sample = ring_reserve((uint32_t)tid, SAMPLE_USER_EVENT, tid, length);
	if (!sample)
		return "profiler is not running, or its buffer is full";
	sample->args[0] = (uint64_t)key;
	memcpy(sample->payload, data, length);
	ring_commit(sample);
	return NULL;
}
