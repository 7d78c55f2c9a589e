/* Runs a helper program invisibly to the host program. */
#include "upload/aws/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

#define STACK_BYTES (64u << 10)

/* Interval between checks of *STOP. */
#define LOOK_MS 50

static const struct timespec poll_interval = { .tv_nsec = 2000000 };

/* A process that has called execve(2) sends SIGCHLD to its parent and is reported by the
 * parent's wait(2). Therefore a keeper process stands between the program and the helper. The
 * keeper shares this memory, does not call execve, and sends no signal. The helper is its child.
 * Each of them ends with its parent. */
struct child {
	char *const *arguments;
	char **environment;
	int output, nothing;
	uint8_t *stack; /* the helper's, until its execve */
	pid_t keeper;
	_Atomic pid_t pid;
	int status; /* status of wait(2) */
};

/* Called in a child that still shares this memory. Signals are blocked there, but after
 * unblocking the program's handlers would run. With SIGCHLD ignored, a child has no exit status. */
static void child_reset_signals(void)
{
	/* struct sigaction of the kernel: zeros, larger than any. */
	static const uint64_t default_action[8];

	for (int signal = 1; signal < _NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, default_action, NULL, _NSIG / 8);
}

/* Called with a copied descriptor table. Only the program's descriptors can lack close-on-exec. */
static void child_close_descriptors(void)
{
	if (!syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0))
		return;
	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) /* before Linux 5.9 */
		syscall(SYS_close, fd);
}

/* Shares this memory while the keeper waits: system calls only. */
static int child_run(void *arg)
{
	const struct child *child = arg;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (syscall(SYS_getppid) != child->keeper)
		syscall(SYS_exit, 127);
	/* A new process group: not reached by terminal signals, and killed as one. */
	syscall(SYS_setpgid, 0, 0);
	dup2(child->nothing, STDIN_FILENO);
	dup2(child->output, STDOUT_FILENO);
	dup2(child->nothing, STDERR_FILENO);
	child_close_descriptors();
	sigemptyset(&none);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, _NSIG / 8);
	syscall(SYS_execve, child->arguments[0], child->arguments, child->environment);
	syscall(SYS_exit, 127);
	return 127;
}

static int keeper_run(void *arg)
{
	struct child *child = arg;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_reset_signals();
	child->keeper = (pid_t)syscall(SYS_getpid);
	pid = clone(child_run, child->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, child);
	atomic_store(&child->pid, pid);
	if (pid < 0 || syscall(SYS_wait4, pid, &child->status, 0, NULL) < 0)
		child->status = 127 << 8;
	syscall(SYS_exit, 0);
	return 0;
}

static int process_read_output(int fd, uint64_t deadline_ns, const atomic_bool *stop,
			       struct buf *out)
{
	for (;;) {
		struct pollfd pollfd = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_monotonic_ns();
		ssize_t n;
		int err;

		if (stop && atomic_load(stop))
			return -ECANCELED;
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&pollfd, 1, LOOK_MS) <= 0)
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

static bool keeper_has_ended(pid_t keeper)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)keeper, &info, WEXITED | WNOWAIT | WNOHANG | (int)__WCLONE) &&
	       info.si_pid == keeper;
}

/* Wait for the end; kill a helper that runs past the deadline. */
static int process_reap(pid_t keeper, struct child *child, uint64_t deadline_ns)
{
	bool killed = false;
	pid_t ended;

	while ((ended = waitpid(keeper, NULL, (int)__WCLONE | WNOHANG)) != keeper) {
		pid_t pid = atomic_load(&child->pid);

		if (ended < 0 && errno != EINTR)
			return -errno;
		if (!killed && pid > 0 && clock_monotonic_ns() >= deadline_ns)
			killed = !syscall(SYS_kill, -pid, SIGKILL) ||
				 !syscall(SYS_kill, pid, SIGKILL);
		nanosleep(&poll_interval, NULL);
	}
	return WIFEXITED(child->status) && !WEXITSTATUS(child->status) ? 0 : -ECHILD;
}

int process_read(const char *command, const struct environment *environment, uint64_t timeout_ms,
		 const atomic_bool *stop, struct buf *out)
{
	char *const arguments[] = { "/bin/sh", "-c", (char *)(uintptr_t)command, NULL };
	struct child child = {
		.arguments = arguments, .output = -1, .nothing = -1, .status = 127 << 8
	};
	uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * 1000000;
	int pipes[2] = { -1, -1 }, err, status;
	uint8_t *stacks = MAP_FAILED;
	pid_t keeper;

	child.environment = environment_without_agent(environment->entries);
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
	/* Share the descriptors: a copy would keep the program's open. */
	keeper =
		clone(keeper_run, stacks + (size_t)2 * STACK_BYTES, CLONE_VM | CLONE_FILES, &child);
	err = keeper < 0 ? -errno : 0;
	if (err)
		goto out;
	/* Until the helper has its own copy of the descriptors. */
	while (!atomic_load(&child.pid) && !keeper_has_ended(keeper))
		nanosleep(&poll_interval, NULL);
	close(child.output);
	child.output = -1;
	err = process_read_output(pipes[0], deadline_ns, stop, out);
	status = process_reap(keeper, &child, err ? 0 : deadline_ns);
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
