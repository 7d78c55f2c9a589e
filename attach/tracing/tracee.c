#include "attach/tracing/tracee.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text/auxv.h"
#include "core/units.h"

/* How long a thread may need to stop. */
#define STOP_NS MS(200)

/* How long the steps in a thread may take: it has to get a processor for each. */
#define WORK_SECONDS 10

/* Linux 5.13; not in older headers. */
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

int tracee_fail(struct tracee *tracee, int err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(tracee->problem, TRACEE_PROBLEM_MAX, format, arguments);
	va_end(arguments);
	return err;
}

void tracee_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = MS(1) }, NULL);
}

/* ---- Files of the process in /proc ---- */

int tracee_open(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, flags | O_CLOEXEC);
}

int tracee_read(pid_t pid, const char *name, struct buf *text)
{
	int fd = tracee_open(pid, name, O_RDONLY), err = fd < 0 ? -errno : 0;

	if (!err)
		err = buf_append_file(text, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

char tracee_thread_state(pid_t pid, pid_t tid)
{
	struct buf text = BUF_INIT(4096);
	char name[64], state = 0;
	const char *end;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	if (!tracee_read(pid, name, &text) && buf_string(&text)) {
		end = strrchr(buf_string(&text), ')');
		state = end && end[1] ? end[2] : 0;
	}
	buf_free(&text);
	return state;
}

/* Signals in the line KEY, like "\nSigPnd:", of TEXT. */
static uint64_t status_signals(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* The signals that wait and that THREAD, with its own mask, will take. */
static uint64_t pending_signals(pid_t pid, const struct stopped *thread)
{
	struct buf text = BUF_INIT(1u << 20);
	uint64_t pending = 0;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/status", thread->tid);
	if (!tracee_read(pid, name, &text) && buf_string(&text))
		pending = status_signals(buf_string(&text), "\nSigPnd:") |
			  status_signals(buf_string(&text), "\nShdPnd:");
	buf_free(&text);
	return pending & ~thread->mask;
}

/* ---- Stopping a thread ---- */

/* Wait until the thread stops because of the request. It continues until then, with its signals. */
static int thread_await_stop(struct stopped *thread)
{
	static const struct timespec moment = { .tv_nsec = 20000 };
	uint64_t deadline = clock_monotonic_ns() + STOP_NS;
	int status;
	pid_t done;

	while (!(done = waitpid(thread->tid, &status, __WALL | WNOHANG)) ||
	       (done > 0 && WIFSTOPPED(status) && !(status >> 16))) {
		if (done && stopped_trace(PTRACE_CONT, thread, 0, WSTOPSIG(status)))
			return -ESRCH;
		if (!done && clock_monotonic_ns() > deadline)
			return -ETIMEDOUT;
		nanosleep(&moment, NULL);
	}
	if (done < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	/* A stop by SIGSTOP lasts. */
	return WSTOPSIG(status) == SIGTRAP ? 0 : -ECANCELED;
}

/* Restartable sequence: the kernel aborts it, but only where it sees the thread's own pc. Source: rseq(2), and
 * linux/include/uapi/linux/ptrace.h. */
static bool is_in_sequence(const struct stopped *thread)
{
	struct {
		uint64_t pointer;
		uint32_t bytes, signature, flags, padding;
	} config = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} sequence;
	uint64_t address = 0;

	if (stopped_trace(PTRACE_GET_RSEQ_CONFIGURATION, thread, sizeof(config), (long)&config) <
		    0 ||
	    !config.pointer ||
	    !stopped_read(thread, config.pointer + 8, &address, sizeof(address)) || !address ||
	    !stopped_read(thread, address, &sequence, sizeof(sequence)))
		return false;
	return remote_pc(&thread->registers) - sequence.start < sequence.length;
}

int tracee_stop_thread(struct stopped *thread, pid_t pid, pid_t tid)
{
	int err;

	*thread = (struct stopped){ .tid = tid };
	err = (int)stopped_trace(PTRACE_SEIZE, thread, 0, 0);
	if (!err)
		err = (int)stopped_trace(PTRACE_INTERRUPT, thread, 0, 0);
	if (!err)
		err = thread_await_stop(thread);
	if (err)
		return err;
	/* (The id may belong to another process meanwhile.) A thread of the kernel, as of io_uring, has no registers and
	 * makes no calls. */
	if (!tracee_thread_state(pid, tid) || !stopped_get(thread) ||
	    !remote_pc(&thread->registers))
		err = -ESRCH;
	else if (is_in_sequence(thread))
		err = -EAGAIN;
	else if (pending_signals(pid, thread) & (UINT64_C(1) << (SIGSTOP - 1)))
		err = -ECANCELED;
	if (err)
		stopped_trace(PTRACE_DETACH, thread, 0, 0);
	return err;
}

void tracee_continue_thread(struct stopped *thread)
{
	remote_continue_call(&thread->registers);
	stopped_restore(thread);
	stopped_trace(PTRACE_DETACH, thread, 0, 0);
}

int tracee_visit_threads(struct tracee *tracee,
			 int (*visit)(struct tracee *tracee, pid_t tid, void *context),
			 void *context)
{
	char path[64];
	struct dirent *entry;
	int err = -EAGAIN;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/task", tracee->pid);
	list = opendir(path);
	if (!list)
		return -ESRCH;
	while (err == -EAGAIN && (entry = readdir(list)))
		if (*entry->d_name != '.')
			err = visit(tracee, atoi(entry->d_name), context);
	closedir(list);
	return err;
}

static int look_for_agent(struct tracee *tracee, pid_t tid, void *found)
{
	struct buf text = BUF_INIT(64);
	char name[64];

	snprintf(name, sizeof(name), "task/%d/comm", tid);
	if (!tracee_read(tracee->pid, name, &text) && buf_string(&text))
		*(bool *)found |= !strcmp(buf_string(&text), "asprof-agent\n") ||
				  !strcmp(buf_string(&text), "asprof-live\n");
	buf_free(&text);
	return *(bool *)found ? 0 : -EAGAIN;
}

bool tracee_has_agent(struct tracee *tracee)
{
	bool is_found = false;

	tracee_visit_threads(tracee, look_for_agent, &is_found);
	return is_found;
}

/* Stop the thread if it is in the states of CONTEXT. */
static int thread_try(struct tracee *tracee, pid_t tid, void *context)
{
	char state = tracee_thread_state(tracee->pid, tid);
	int err = state == 'T' ? -ECANCELED : -EAGAIN;

	if (state && strchr(context, state))
		err = tracee_stop_thread(&tracee->thread, tracee->pid, tid);
	return err == -ESRCH ? -EAGAIN : err;
}

/* ---- Syscall User Dispatch ---- */

static int fail_by_dispatch(struct tracee *tracee)
{
	return tracee_fail(
		tracee, -EPERM,
		"it uses Syscall User Dispatch, as Wine does: system calls of other code "
		"are passed to the program");
}

/* Such a program handles SIGSYS. One that handles SIGSTKFLT too, like Go's runtime, handles all signals. */
static bool may_dispatch(pid_t pid)
{
	struct buf text = BUF_INIT(1u << 20);
	uint64_t handled = 0;

	if (!tracee_read(pid, "status", &text) && buf_string(&text))
		handled = status_signals(buf_string(&text), "\nSigCgt:");
	buf_free(&text);
	return handled >> (SIGSYS - 1) & 1 && !(handled >> (SIGSTKFLT - 1) & 1);
}

static int look_for_dispatch(struct tracee *tracee, pid_t tid, void *found)
{
	char state = tracee_thread_state(tracee->pid, tid);
	struct stopped thread;
	int err;

	if (!state || !strchr("SRI", state))
		return -EAGAIN;
	err = tracee_stop_thread(&thread, tracee->pid, tid);
	if (err)
		return err == -ESRCH ? -EAGAIN : err;
	*(bool *)found |= stopped_dispatches(&thread);
	tracee_continue_thread(&thread);
	return -EAGAIN;
}

int tracee_check_dispatch(struct tracee *tracee)
{
	bool is_found = false;
	int err;

	if (!may_dispatch(tracee->pid))
		return 0;
	err = tracee_visit_threads(tracee, look_for_dispatch, &is_found);
	if (err != -EAGAIN)
		return tracee_fail_to_stop(tracee, err);
	return is_found ? fail_by_dispatch(tracee) : 0;
}

int tracee_fail_to_stop(struct tracee *tracee, int err)
{
	switch (err) {
	case -EAGAIN:
	case -ETIMEDOUT:
		return tracee_fail(
			tracee, err,
			"no thread could be stopped within %d s: they wait for a disk or for a "
			"child of vfork(2), or the process executes or ends",
			TRACEE_SEARCH_SECONDS);
	case -EPERM:
		return tracee_fail(tracee, err, "the kernel forbids to trace it");
	case -ECANCELED:
		return tracee_fail(tracee, err,
				   "it is stopped by a signal; continue it first: kill -CONT %d",
				   tracee->pid);
	case -ESRCH:
		return tracee_fail(tracee, err, "it has ended");
	default:
		return tracee_fail(tracee, err, "cannot stop a thread: %s", strerror(-err));
	}
}

static int look_for_life(struct tracee *tracee, pid_t tid, void *found)
{
	char state = tracee_thread_state(tracee->pid, tid);

	*(bool *)found |= state && !strchr("ZX", state);
	return -EAGAIN;
}

/* True when all threads have ended, and nothing has waited for the process yet. */
static bool is_zombie(struct tracee *tracee)
{
	bool is_alive = false;

	return tracee_visit_threads(tracee, look_for_life, &is_alive) == -EAGAIN && !is_alive;
}

/* A thread that waits is better than one that runs. */
static int thread_choose(struct tracee *tracee)
{
	int err = tracee_visit_threads(tracee, thread_try, (void *)(uintptr_t) "S");

	if (err == -EAGAIN)
		err = tracee_visit_threads(tracee, thread_try, (void *)(uintptr_t) "RI");
	if (err == -EAGAIN && is_zombie(tracee))
		err = -ESRCH;
	return err ? tracee_fail_to_stop(tracee, err) : 0;
}

/* ---- Work in a stopped thread ---- */

uint64_t tracee_auxiliary_value(const struct buf *auxiliary, uint64_t kind)
{
	uint64_t value;

	return auxv_find(&value, auxiliary->data, auxiliary->length, sizeof(value), kind) ? value
											  : 0;
}

uintptr_t tracee_find_vdso(pid_t pid)
{
	struct buf auxiliary = BUF_INIT(TRACEE_AUXILIARY_MAX);
	uintptr_t vdso = 0;

	if (!tracee_read(pid, "auxv", &auxiliary))
		vdso = tracee_auxiliary_value(&auxiliary, AT_SYSINFO_EHDR);
	buf_free(&auxiliary);
	return vdso;
}

static struct stopped *working;

static void on_overdue(int signo)
{
	stopped_interrupt(working);
	signal(signo, SIG_DFL);
	alarm(WORK_SECONDS);
}

/* A thread whose control group is frozen stops for a tracer, but makes no call. If the tracer ended then, the thread would
 * make it later, and continue there. */
static int work_in_time(struct tracee *tracee, int (*work)(void *context), void *context)
{
	int err;

	working = &tracee->thread;
	signal(SIGALRM, on_overdue);
	alarm(WORK_SECONDS);
	err = work(context);
	alarm(WORK_SECONDS);
	/* Another attempt would fail too, and stop the thread again. */
	if (err == -EAGAIN)
		return tracee_fail(tracee, -EBUSY,
				   "a limit of the process forbids memory or a thread (ulimit -u, "
				   "or ulimit -l after mlockall(2))");
	return err != -ETIMEDOUT
		       ? err
		       : tracee_fail(
				 tracee, err,
				 "its thread makes no system call within %d s: its control "
				 "group is frozen, as of a paused container, or has no processor",
				 WORK_SECONDS);
}

int tracee_with_thread(struct tracee *tracee, int (*work)(void *context), void *context)
{
	struct stopped *thread = &tracee->thread;
	int err = thread_choose(tracee);

	if (err)
		return err;
	/* What has been read of it must not be of the program before execve(2). */
	if (tracee_find_vdso(tracee->pid) != tracee->vdso)
		err = tracee_fail(tracee, -ESTALE,
				  "it has executed another program since this command began");
	else if (!tracee->vdso)
		err = tracee_fail(tracee, -ENOSYS, "it has no vDSO");
	else if (stopped_dispatches(thread))
		err = fail_by_dispatch(tracee);
	else if (!stopped_find_call(thread, tracee->vdso))
		err = tracee_fail(tracee, -ENOSYS, "its vDSO cannot be read");
	else
		err = work_in_time(tracee, work, context);
	if (err && !*tracee->problem)
		tracee_fail(tracee, err, "the steps in its thread failed: %s", strerror(-err));
	tracee_continue_thread(thread);
	return err;
}
