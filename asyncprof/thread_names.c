/* Names of threads that end before async-profiler reads them. */
#include "asyncprof/thread_names.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "core/fd.h"
#include "core/system.h"

#define REQUESTS_MAX 256
#define NAMES_MAX    1024

/* Names of ended threads that async-profiler gets for each of its starts. It keeps a name until the next start, also
 * for a later thread with the same id. */
#define SHOWN_MAX 1024

static struct {
	_Atomic pid_t tids[REQUESTS_MAX]; /* 0: free */
	_Atomic uint32_t count;
	_Atomic uint32_t starts; /* starts of async-profiler */
	atomic_bool is_off;      /* it has SHOWN_MAX names */
} requests;

/* Samples of this thread since that start. */
static __thread struct {
	uint32_t start, samples;
} own;

/* The name of thread TID is at TID % NAMES_MAX. */
static struct thread_name {
	pid_t tid; /* 0: none */
	uint32_t length;
	char text[THREAD_NAME_BYTES];
} names[NAMES_MAX];

static unsigned int shown_count; /* names that async-profiler has read since its start */
static __thread bool is_shown_here;

bool thread_names_request(void)
{
	uint32_t start = atomic_load_explicit(&requests.starts, memory_order_relaxed);

	if (own.start != start) {
		own.start = start;
		own.samples = 0;
	}
	own.samples++;
	if (own.samples & (own.samples - 1) || atomic_load(&requests.is_off))
		return false;
	atomic_store(&requests.tids[atomic_fetch_add(&requests.count, 1) % REQUESTS_MAX],
		     system_thread());
	return true;
}

static void thread_name_read(pid_t tid)
{
	struct thread_name *name = &names[(uint32_t)tid % NAMES_MAX];
	char text[THREAD_NAME_BYTES];
	int fd = fd_of_thread(tid, "comm", 0);
	ssize_t length;

	if (fd < 0)
		return;
	length = system_read(fd, text, sizeof(text));
	system_close(fd);
	if (length <= 0)
		return;
	*name = (struct thread_name){ .tid = tid, .length = (uint32_t)length };
	memcpy(name->text, text, (size_t)length);
}

void thread_names_read(void)
{
	pid_t tid;

	for (size_t i = 0; i < REQUESTS_MAX; i++) {
		tid = atomic_load(&requests.tids[i]) ? atomic_exchange(&requests.tids[i], 0) : 0;
		if (tid)
			thread_name_read(tid);
	}
}

void thread_names_reset(void)
{
	memset(names, 0, sizeof(names));
	shown_count = 0;
	atomic_store(&requests.is_off, false);
	atomic_fetch_add(&requests.starts, 1);
}

void thread_names_show(bool is_shown)
{
	is_shown_here = is_shown;
	if (is_shown)
		return;
	memset(names, 0, sizeof(names));
	atomic_store(&requests.is_off, shown_count >= SHOWN_MAX);
}

pid_t thread_names_next(size_t *position)
{
	while (is_shown_here && *position < NAMES_MAX) {
		pid_t tid = names[(*position)++].tid;

		if (tid)
			return tid;
	}
	return 0;
}

size_t thread_names_copy(pid_t tid, char text[THREAD_NAME_BYTES])
{
	const struct thread_name *name = &names[(uint32_t)tid % NAMES_MAX];

	if (!is_shown_here || name->tid != tid)
		return 0;
	shown_count++;
	memcpy(text, name->text, name->length);
	return name->length;
}
