/* Runs a helper program without the host program noticing. */
#include "upload/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
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

struct child {
	char *const *arguments;
	char **environment;
	int output, nothing;
};

/* In the parent's memory, while it waits: nothing but system calls. */
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

/* No signal at its end, which would be the program's; nor does wait(2) see such a child, but
 * with __WCLONE. */
static pid_t start(struct child *child)
{
	uint8_t *stack;
	pid_t pid;

	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return -ENOMEM;
	pid = clone(run_child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, child);
	if (pid < 0)
		pid = -errno;
	munmap(stack, STACK_BYTES); /* CLONE_VFORK: the child has left it */
	return pid;
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

/* Wait for its end; a child that goes on past the deadline is killed. */
static int reap(pid_t pid, uint64_t deadline_ns)
{
	static const struct timespec pause = { .tv_nsec = 5000000 };
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(pid, &status, (int)__WCLONE | WNOHANG)) != pid) {
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (clock_monotonic_ns() >= deadline_ns)
			kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

int process_read(const char *command, const struct environment *environment, uint64_t timeout_ms,
		 struct buf *out)
{
	char *const arguments[] = { "/bin/sh", "-c", (char *)(uintptr_t)command, NULL };
	struct child child = { .arguments = arguments, .output = -1, .nothing = -1 };
	uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * 1000000;
	int pipes[2] = { -1, -1 }, err, status;
	pid_t pid;

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

	pid = start(&child);
	close(child.output);
	child.output = -1;
	if (pid < 0) {
		err = pid;
		goto out;
	}
	err = read_all(pipes[0], deadline_ns, out);
	status = reap(pid, err ? 0 : deadline_ns);
	if (!err)
		err = status;
out:
	if (pipes[0] >= 0)
		close(pipes[0]);
	if (child.output >= 0)
		close(child.output);
	if (child.nothing >= 0)
		close(child.nothing);
	free(child.environment);
	return err;
}
