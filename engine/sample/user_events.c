/* Events that the program emits. Names are few and never removed. They are in an array that only
 * grows, without a lock, because a fork could happen while a lock is held. */
#include "engine/sample/user_events.h"

#include <stdatomic.h>
#include <string.h>

#include "core/system.h"
#include "engine/sample/ring.h"

#define NAMES_MAX 1024

/* Bytes of all names together. */
#define TEXT_MAX 65536

static const char *_Atomic names[NAMES_MAX]; /* the first NULL ends them */
static char text[TEXT_MAX];
static _Atomic size_t text_used;

/* Returns NULL when there is no room. */
static const char *user_event_store_name(const char *name)
{
	size_t used = atomic_load(&text_used), size = strnlen(name, TEXT_MAX) + 1;

	do {
		if (size > TEXT_MAX - used)
			return NULL;
	} while (!atomic_compare_exchange_weak(&text_used, &used, used + size));
	memcpy(&text[used], name, size);
	return &text[used];
}

asprof_jfr_event_key user_event_register(const char *name)
{
	const char *copy = NULL;

	for (int key = 0; key < NAMES_MAX; key++) {
		const char *there = atomic_load(&names[key]);

		if (!there) {
			if (!copy)
				copy = user_event_store_name(name);
			if (!copy)
				return -1;
			if (atomic_compare_exchange_strong(&names[key], &there, copy))
				return key;
		}
		/* (When two threads register the same name at once, one copy is wasted.) */
		if (!strcmp(there, name))
			return key;
	}
	return -1;
}

const char *user_event_name(asprof_jfr_event_key key)
{
	return atomic_load(&names[key]);
}

asprof_error_t user_event_emit(asprof_jfr_event_key key, const uint8_t *data, size_t length)
{
	pid_t tid = system_thread();
	struct sample *sample;

	if (key < 0 || key >= NAMES_MAX || !atomic_load(&names[key]))
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
