/* Where async-profiler's descriptors are while its code runs in a thread of the program. */
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

/* On the stack of who asks, who waits for it. */
struct request {
	struct request *next;
	fd_proxy_function *call;
	const long *arguments;
	long result;
	int err;
	_Atomic uint32_t done; /* a futex */
};

static __thread bool looked; /* for the mark */

/* A pipe that nothing but the engine's table holds tells it from any other. */
static struct {
	atomic_bool set;
	int fd;
	dev_t dev;
	ino_t ino;
} mark;

static struct request closed; /* in the place of the newest: no more is taken in */

static struct {
	struct request *_Atomic newest; /* a list, to its oldest */
	_Atomic uint32_t asked;         /* so often; a futex for the thread */
	_Atomic uint32_t opened;        /* so often: each time there is another table */
	atomic_bool apart;              /* the engine's descriptors are in a table of their own */
} desk = { .newest = &closed };

static void mark_create(void)
{
	struct stat st;
	int ends[2];

	atomic_store(&mark.set, false);
	if (pipe2(ends, O_CLOEXEC))
		return; /* then only threads that were told know where they are */
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

static void serve(struct request *request)
{
	errno = 0;
	request->result = request->call(request->arguments);
	request->err = errno;
	/* From here on it is the other's again, who may be gone: a wake that nobody waits for. */
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
		serve(request);
	}
}

/* False where it was closed, or opened again behind another thread. */
static bool requests_take(struct request **newest, uint32_t opened)
{
	*newest = atomic_load(&desk.newest);
	do {
		if (*newest == &closed || atomic_load(&desk.opened) != opened)
			return false;
	} while (!atomic_compare_exchange_weak(&desk.newest, newest, NULL));
	return true;
}

static void *fd_proxy_run(void *opened)
{
	struct request *newest;
	uint32_t asked;

	for (;;) {
		asked = atomic_load(&desk.asked);
		privileges_follow(false);
		if (!requests_take(&newest, (uint32_t)(uintptr_t)opened))
			return NULL;
		if (newest)
			requests_run(newest);
		else
			futex_wait_until(&desk.asked, asked, privileges_due_ns());
	}
}

int fd_proxy_start(void)
{
	uintptr_t opened;
	int err;

	if (atomic_load(&desk.newest) != &closed)
		return 0;
	mark_create();
	opened = atomic_fetch_add(&desk.opened, 1) + 1;
	atomic_store(&desk.apart, true);
	atomic_store(&desk.newest, NULL);
	err = own_thread_start("asprof-files", fd_proxy_run, (void *)opened);
	if (err)
		fd_proxy_stop();
	return err;
}

static void fd_proxy_wake(void)
{
	atomic_fetch_add(&desk.asked, 1);
	futex_wake(&desk.asked);
}

void fd_proxy_check_privileges(void)
{
	if (fd_proxy_has_own_table())
		fd_proxy_wake();
}

/* What the thread has not seen is done here. */
void fd_proxy_stop(void)
{
	struct request *newest = atomic_exchange(&desk.newest, &closed);

	if (newest != &closed)
		requests_run(newest);
	fd_proxy_wake();
}

static bool request_submit(struct request *request)
{
	struct request *newest = atomic_load(&desk.newest);

	do {
		if (newest == &closed)
			return false;
		request->next = newest;
	} while (!atomic_compare_exchange_weak(&desk.newest, &newest, request));
	fd_proxy_wake();
	return true;
}

bool fd_proxy_has_own_table(void)
{
	return atomic_load(&desk.apart);
}

bool fd_proxy_is_local(void)
{
	if (!fd_proxy_has_own_table())
		return true;
	if (own_fds_here() == OWN_FDS_ENGINE)
		return true;
	if (!looked && atomic_load(&mark.set)) {
		looked = true;
		if (mark_is_visible())
			own_fds_inherit(OWN_FDS_ENGINE);
	}
	return own_fds_here() == OWN_FDS_ENGINE;
}

long fd_proxy_call(fd_proxy_function *call, const long arguments[FD_PROXY_ARGUMENTS])
{
	struct request request = { .call = call, .arguments = arguments };
	bool is_left = owner_process_is_parent();
	int saved = errno;

	if (!is_left && fd_proxy_is_local())
		return call(arguments);
	if (is_left || !request_submit(&request)) {
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
	atomic_store(&desk.newest, &closed);
}
