/* Descriptor proxy: a thread that does file calls for async-profiler. */
#include "asyncprof/fd_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asyncprof/owner_process.h"
#include "core/futex.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/system.h"

/* A call, on the stack of the waiting thread. */
struct request {
	struct request *next;
	fd_proxy_function *call;
	const long *arguments;
	long result;
	int err;
	_Atomic uint32_t done; /* a futex */
};

static __thread bool has_looked; /* has looked for the mark */

/* A pipe that only the engine's table has, to recognize that table. */
static struct {
	atomic_bool set;
	int fd;
	dev_t dev;
	ino_t ino;
} mark;

static struct request closed; /* as the newest request: new requests are refused */

static struct {
	struct request *_Atomic newest; /* list of requests, newest first */
	_Atomic uint32_t wakeups;       /* number of wakeups of the thread; a futex */
	_Atomic uint32_t starts;        /* number of starts; each has a new table */
	atomic_bool has_own_table;      /* the engine's descriptors are in a separate table */
} proxy = { .newest = &closed };

static void mark_create(void)
{
	struct stat st;
	int ends[2];

	atomic_store(&mark.set, false);
	if (pipe2(ends, O_CLOEXEC))
		return; /* then only registered threads know that they have the table */
	close(ends[1]);
	if (system_stat(ends[0], &st))
		return;
	mark.fd = ends[0];
	mark.dev = st.st_dev;
	mark.ino = st.st_ino;
	atomic_store(&mark.set, true);
}

static bool mark_is_visible(void)
{
	struct stat st;
	int saved = errno;
	bool sees = !system_stat(mark.fd, &st) && st.st_dev == mark.dev && st.st_ino == mark.ino;

	errno = saved;
	return sees;
}

static void request_run(struct request *request)
{
	errno = 0;
	request->result = request->call(request->arguments);
	request->err = errno;
	/* From here on REQUEST belongs to the waiting thread and may be invalid; then the wakeup does nothing. */
	atomic_store(&request->done, 1);
	futex_wake(&request->done);
}

static struct request *requests_reverse(struct request *newest)
{
	struct request *first = NULL, *next;

	for (; newest; newest = next) {
		next = newest->next;
		newest->next = first;
		first = newest;
	}
	return first;
}

static void requests_run(struct request *newest)
{
	struct request *request, *next;

	for (request = requests_reverse(newest); request; request = next) {
		next = request->next;
		request_run(request);
	}
}

/* Take all requests. False when the proxy was stopped, or started again with another thread. */
static bool requests_take(struct request **newest, uint32_t start)
{
	*newest = atomic_load(&proxy.newest);
	do {
		if (*newest == &closed || atomic_load(&proxy.starts) != start)
			return false;
	} while (!atomic_compare_exchange_weak(&proxy.newest, newest, NULL));
	return true;
}

static void *fd_proxy_run(void *start)
{
	struct request *newest;
	uint32_t wakeups;

	for (;;) {
		wakeups = atomic_load(&proxy.wakeups);
		privileges_follow(false);
		if (!requests_take(&newest, (uint32_t)(uintptr_t)start))
			return NULL;
		if (newest)
			requests_run(newest);
		else
			futex_wait_until(&proxy.wakeups, wakeups, privileges_due_ns());
	}
}

int fd_proxy_start(void)
{
	uintptr_t start;
	int err;

	if (atomic_load(&proxy.newest) != &closed)
		return 0;
	mark_create();
	start = atomic_fetch_add(&proxy.starts, 1) + 1;
	atomic_store(&proxy.has_own_table, true);
	atomic_store(&proxy.newest, NULL);
	err = own_thread_start("asprof-files", fd_proxy_run, (void *)start);
	if (err)
		fd_proxy_stop();
	return err;
}

static void fd_proxy_wake(void)
{
	atomic_fetch_add(&proxy.wakeups, 1);
	futex_wake(&proxy.wakeups);
}

void fd_proxy_check_privileges(void)
{
	if (fd_proxy_has_own_table())
		fd_proxy_wake();
}

/* Requests that the thread has not taken are done here. */
void fd_proxy_stop(void)
{
	struct request *newest = atomic_exchange(&proxy.newest, &closed);

	if (newest != &closed)
		requests_run(newest);
	fd_proxy_wake();
}

static bool request_submit(struct request *request)
{
	struct request *newest = atomic_load(&proxy.newest);

	do {
		if (newest == &closed)
			return false;
		request->next = newest;
	} while (!atomic_compare_exchange_weak(&proxy.newest, &newest, request));
	fd_proxy_wake();
	return true;
}

bool fd_proxy_has_own_table(void)
{
	return atomic_load(&proxy.has_own_table);
}

bool fd_proxy_is_local(void)
{
	if (!fd_proxy_has_own_table())
		return true;
	if (own_fds_here() == OWN_FDS_ENGINE)
		return true;
	if (!has_looked && atomic_load(&mark.set)) {
		has_looked = true;
		if (mark_is_visible())
			own_fds_inherit(OWN_FDS_ENGINE);
	}
	return own_fds_here() == OWN_FDS_ENGINE;
}

/* The wait needs no limit, also if the caller holds a lock of the program, such as the allocator's: the proxy thread
 * takes no such lock. Its requests are system calls on files of /proc, memory files and perf events. Between them it
 * only calls privileges_follow() (scripts/host_imports lists what that may call). */
long fd_proxy_call(fd_proxy_function *call, const long arguments[FD_PROXY_ARGUMENTS])
{
	struct request request = { .call = call, .arguments = arguments };
	bool is_child = owner_process_is_other();
	int saved = errno;

	if (!is_child && fd_proxy_is_local())
		return call(arguments);
	if (is_child || !request_submit(&request)) {
		errno = EBADF;
		return -1;
	}
	while (!atomic_load(&request.done))
		futex_wait(&request.done, 0, NULL);
	errno = request.result == -1 ? request.err : saved;
	return request.result;
}

void fd_proxy_reset_in_child(void)
{
	atomic_store(&proxy.newest, &closed);
}
