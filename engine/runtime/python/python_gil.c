/* CPython's global interpreter lock. */
#include "engine/runtime/python/python_gil.h"

#include <stddef.h>

#include "engine/reading/process_memory.h"

/* The head of struct _gil_runtime_state, the same from 3.8 to 3.14 (Include/internal/pycore_gil.h).
 * A condition variable, a mutex and another condition variable follow, of 48, 40 and 48 bytes. */
struct gil {
	uint64_t interval; /* microseconds; 5,000 by default */
	uint64_t last_holder;
	int32_t locked; /* -1: not created */
	int32_t unused;
	uint64_t switch_number;
};

#define INTERVAL_MAX 1000000000u

/* Offsets of their futexes after the head. A condition variable has two (__g_signals): at 32 since
 * glibc 2.41, and at 40 before. */
#define CONDITION(at) (at) + 32, (at) + 36, (at) + 40, (at) + 44
static const uint8_t futexes[] = { CONDITION(0), 48, CONDITION(48 + 40) };

/* Since 3.11 the kernel's thread id follows the C library's. */
#define WITH_NATIVE_ID 0x030b

/* The C library's id is the address of its thread structure, which contains the kernel's id. */
#if defined(__x86_64__)
#define GLIBC_TID 720
#elif defined(__aarch64__)
#define GLIBC_TID 208
#endif

static pid_t thread_of_state(const struct python *python, uintptr_t state)
{
	const struct python_layout *layout = &python->layout;
	uint64_t ids[2] = { 0 };
	pid_t tid = 0;

	if (process_memory_read(state + layout->thread_id, ids, sizeof(ids)))
		return 0;
	if (layout->version >= WITH_NATIVE_ID)
		return (pid_t)ids[1];
#ifdef GLIBC_TID
	if (process_memory_read((uintptr_t)ids[0] + GLIBC_TID, &tid, sizeof(tid)))
		return 0;
#endif
	return tid;
}

static bool gil_is_plausible(const struct gil *gil)
{
	return gil->interval && gil->interval <= INTERVAL_MAX && !(gil->last_holder & 7) &&
	       (gil->locked == 0 || gil->locked == 1);
}

bool python_gil_at(const struct python *python, uintptr_t futex, pid_t *holder)
{
	struct gil gil;

	*holder = 0;
	if (futex - python->runtime >= python->runtime_bytes)
		return false;
	for (size_t i = 0; i < sizeof(futexes); i++) {
		if (futex - python->runtime < futexes[i] + sizeof(gil) ||
		    process_memory_read(futex - futexes[i] - sizeof(gil), &gil, sizeof(gil)) ||
		    !gil_is_plausible(&gil))
			continue;
		if (gil.locked && gil.last_holder)
			*holder = thread_of_state(python, (uintptr_t)gil.last_holder);
		return true;
	}
	return false;
}
