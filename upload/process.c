/* Runs a helper program without the host program noticing. */
#include "upload/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

#define STACK_BYTES (64u << 10)

static const struct timespec a_while = { .tv_nsec = 2000000 };

/* A process that has executed a program sends SIGCHLD to its parent, however it was made, and
 * is seen by its wait(2). So between it and us stands a keeper, a process in our memory that
 * executes nothing: the helper is its child, and it sends no signal. */
struct child {
	char *const *arguments;
	char **environment;
	int output, nothing;
	uint8_t *stack; /* the helper's, until it has left our memory */
	_Atomic pid_t pid;
	int status; /* as wait(2) tells it */
};

/* In our memory, while the keeper waits: nothing but system calls. */
static int run_child(void *arg)
{
	const struct child *child = arg;
	sigset_t none;

	dup2(child->nothing, STDIN_FILENO);
	dup2(child->output, STDOUT_FILENO);
	dup2(child->nothing, STDERR_FILENO);
	sigemptyset(&none);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, _NSIG / 8);
	syscall(SYS_execve, child->arguments[0], child->arguments, child->environment);
	syscall(SYS_exit, 127);
	return 127;
}

/* Without the preload: the helper is not what is profiled. */
static char **child_environment(const struct environment *environment)
{
	size_t count = 0, kept = 0;
	char **entries;

	while (environment->entries && environment->entries[count])
		count++;
	entries = calloc(count + 1, sizeof(*entries));
	for (size_t i = 0; entries && i < count; i++) {
		char *entry = environment->entries[i];

		if (strncmp(entry, "LD_PRELOAD=", 11) && strncmp(entry, "ASPROF_AGENT_", 13))
			entries[kept++] = entry;
	}
	return entries;
}

static int keep(void *arg)
{
	struct child *child = arg;
	pid_t pid = clone(run_child, child->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, child);

	atomic_store(&child->pid, pid);
	/* No status where the program ignores SIGCHLD: then what was printed has to do. */
	if (pid < 0)
		child->status = 127 << 8;
	else if (syscall(SYS_wait4, pid, &child->status, 0, NULL) < 0)
		child->status = 0;
	syscall(SYS_exit, 0);
	return 0;
}

static int read_all(int fd, uint64_t deadline_ns, struct buf *out)
{
	for (;;) {
		struct pollfd pollfd = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_monotonic_ns();
		ssize_t n;
		int err;

		if (now >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&pollfd, 1, (int)((deadline_ns - now) / 1000000) + 1) <= 0)
			continue;
		err = buf_reserve(out, 4096);
		if (err)
			return err;
		n = read(fd, out->data + out->length, 4096);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		out->length += n > 0 ? (size_t)n : 0;
	}
}

/* Wait for the end; a helper that goes on past the deadline is killed. */
static int reap(pid_t keeper, struct child *child, uint64_t deadline_ns)
{
	bool killed = false;
	pid_t ended;

	while ((ended = waitpid(keeper, NULL, (int)__WCLONE | WNOHANG)) != keeper) {
		pid_t pid = atomic_load(&child->pid);

		if (ended < 0 && errno != EINTR)
			return -errno;
		if (!killed && pid > 0 && clock_monotonic_ns() >= deadline_ns)
			killed = !kill(pid, SIGKILL);
		nanosleep(&a_while, NULL);
	}
	return WIFEXITED(child->status) && !WEXITSTATUS(child->status) ? 0 : -ECHILD;
}

int process_read(const char *command, const struct environment *environment, uint64_t timeout_ms,
		 struct buf *out)
{
	char *const arguments[] = { "/bin/sh", "-c", (char *)(uintptr_t)command, NULL };
	struct child child = { .arguments = arguments, .output = -1, .nothing = -1 };
	uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * 1000000;
	int pipes[2] = { -1, -1 }, err, status;
	uint8_t *stacks = MAP_FAILED;
	pid_t keeper;

	child.environment = child_environment(environment);
	if (!child.environment)
		return -ENOMEM;
	if (pipe2(pipes, O_CLOEXEC)) {
		err = -errno;
		goto out;
	}
	pipes[0] = fd_raise(pipes[0]);
	child.output = fd_raise(pipes[1]);
	child.nothing = fd_raise(open("/dev/null", O_RDWR | O_CLOEXEC));
	err = pipes[0] < 0 || child.output < 0 || child.nothing < 0 ? -EMFILE : 0;
	if (err)
		goto out;

	stacks = mmap(NULL, (size_t)2 * STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stacks == MAP_FAILED) {
		err = -ENOMEM;
		goto out;
	}
	child.stack = stacks + STACK_BYTES;
	/* With our descriptors, not a copy that would keep the program's open. */
	keeper = clone(keep, stacks + (size_t)2 * STACK_BYTES, CLONE_VM | CLONE_FILES, &child);
	err = keeper < 0 ? -errno : 0;
	if (err)
		goto out;
	while (!atomic_load(&child.pid))
		nanosleep(&a_while, NULL); /* until the helper has its own copy of them */
	close(child.output);
	child.output = -1;
	err = read_all(pipes[0], deadline_ns, out);
	status = reap(keeper, &child, err ? 0 : deadline_ns);
	if (!err)
		err = status;
out:
	if (pipes[0] >= 0)
		close(pipes[0]);
	if (child.output >= 0)
		close(child.output);
	if (child.nothing >= 0)
		close(child.nothing);
	if (stacks != MAP_FAILED)
		munmap(stacks, (size_t)2 * STACK_BYTES);
	free(child.environment);
	return err;
}
