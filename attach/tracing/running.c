/* The process that traces: a child for each attempt. */
#include "attach/tracing/running.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/tracing/inject.h"
#include "attach/tracing/remove.h"
#include "attach/tracing/tracee.h"
#include "core/clock.h"
#include "core/units.h"

/* Of all steps of an attempt. */
#define LIMIT_SECONDS 30

struct answer {
	int err;
	bool has_begun;
	char problem[TRACEE_PROBLEM_MAX];
};

struct work {
	int (*function)(struct tracee *tracee, const void *context);
	const void *context;
};

/* One command at a time works on the process. This file can be opened only by who may trace it. The lock ends with this
 * process. (Commands that have different mounts of /proc do not exclude each other.) */
static int lock_process(struct tracee *tracee)
{
	uint64_t deadline = clock_monotonic_ns() + SECONDS(TRACEE_SEARCH_SECONDS);
	int fd = tracee_open(tracee->pid, "mem", O_RDONLY);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		if (clock_monotonic_ns() > deadline)
			return tracee_fail(tracee, -EBUSY,
					   "another command attaches to it, or detaches from it");
		tracee_pause();
	}
	return 0;
}

static _Noreturn void child_run(pid_t pid, uintptr_t vdso, const struct work *work, int out)
{
	struct answer answer = { 0 };
	struct tracee tracee = { .pid = pid, .vdso = vdso, .problem = answer.problem };
	sigset_t alarms;

	/* A program that keeps its thread from making calls gets it back. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(LIMIT_SECONDS);
	setsid();
	answer.err = lock_process(&tracee);
	/* The program must not wait for a processor. This needs a privilege. */
	setpriority(PRIO_PROCESS, 0, -20);
	if (!answer.err)
		answer.err = work->function(&tracee, work->context);
	answer.has_begun = tracee.has_begun;
	_exit(write(out, &answer, sizeof(answer)) != sizeof(answer));
}

static int fail_to_start(struct answer *answer)
{
	answer->err = -errno;
	snprintf(answer->problem, sizeof(answer->problem),
		 "cannot start a process that traces it: %s", strerror(errno));
	return answer->err;
}

/* Returns false if the child neither answers nor ends in time: it waits in the kernel for the program's memory, as for a file
 * system that does not answer. Not even a signal ends that. */
static bool answer_read(int fd, struct answer *answer)
{
	uint64_t now = clock_monotonic_ns(), deadline = now + SECONDS(3 * LIMIT_SECONDS);
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	for (; now < deadline; now = clock_monotonic_ns())
		if (poll(&ready, 1, (int)((deadline - now) / 1000000) + 1) > 0)
			return read(fd, answer, sizeof(*answer)) >= 0 || errno != EINTR;
	return false;
}

/* Do WORK in a child. What it traces continues when it ends. */
static int run_once(pid_t pid, uintptr_t vdso, const struct work *work, struct answer *answer)
{
	sigset_t all, mask;
	int ends[2];
	bool has_ended;
	pid_t child;

	*answer = (struct answer){ .err = -ECHILD };
	snprintf(answer->problem, sizeof(answer->problem),
		 "the process that traced it did not end its work in time");
	if (pipe2(ends, O_CLOEXEC))
		return fail_to_start(answer);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	child = fork();
	if (!child)
		child_run(pid, vdso, work, ends[1]);
	if (child < 0)
		fail_to_start(answer);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	has_ended = child < 0 || answer_read(ends[0], answer);
	close(ends[0]);
	if (!has_ended)
		kill(child, SIGKILL);
	while (child > 0 && has_ended && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	answer->problem[TRACEE_PROBLEM_MAX - 1] = '\0';
	return answer->err;
}

static int run(pid_t pid, uintptr_t vdso, const struct work *work, bool *has_begun,
	       char problem[TRACEE_PROBLEM_MAX])
{
	uint64_t deadline = clock_monotonic_ns() + SECONDS(TRACEE_SEARCH_SECONDS);
	struct answer answer;
	int err;

	while ((err = run_once(pid, vdso, work, &answer)) == -EAGAIN || err == -ETIMEDOUT) {
		if (clock_monotonic_ns() > deadline)
			break;
		tracee_pause();
	}
	*has_begun = answer.has_begun;
	memcpy(problem, answer.problem, sizeof(answer.problem));
	return err;
}

int running_attach(const struct inject_request *request, uintptr_t vdso, bool *has_begun,
		   char problem[TRACEE_PROBLEM_MAX])
{
	return run(request->pid, vdso, &(struct work){ inject_agent, request }, has_begun, problem);
}

int running_detach(pid_t pid, uintptr_t vdso, const struct attached_range *range,
		   char problem[TRACEE_PROBLEM_MAX])
{
	bool has_begun;

	return run(pid, vdso, &(struct work){ remove_agent, range }, &has_begun, problem);
}
