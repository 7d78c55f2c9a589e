/* `run` waits for its command, so that it can tell in the end what came of it. Whoever signals it
 * means the command. */
#include "decoder/commands/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t command_pid;

/* A terminal signals all processes in front of it, so the command has had such a one. */
static void forward_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0)
		kill(command_pid, signo);
	errno = saved;
}

static const int passed[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH };

static void install_signal_handlers(void)
{
	struct sigaction action = { .sa_sigaction = forward_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (!sigaction(passed[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(passed[i], &action, NULL);
}

/* In the child: become the command, or write why not to OUT. */
static void child_execute(char **argv, const sigset_t *mask, int out)
{
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(*argv, argv);
	err = errno;
	if (write(out, &err, sizeof(err)) < 0)
		_exit(1);
	_exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int run_command_wait(struct run_command *command, char **argv)
{
	sigset_t all, mask;
	int ends[2], err = 0;
	int64_t began;

	*command =
		(struct run_command){ .argv = argv, .started_ns = now_ns(CLOCK_REALTIME_COARSE) };
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	/* No handler of ours may run in the child, and none before it is known. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	began = now_ns(CLOCK_MONOTONIC);
	command->pid = fork();
	if (!command->pid)
		child_execute(argv, &mask, ends[1]);
	if (command->pid < 0)
		err = errno;
	command_pid = command->pid;
	if (!err)
		install_signal_handlers();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	if (!err && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = 0; /* nothing came: it runs */
	close(ends[0]);
	while (command->pid > 0 && waitpid(command->pid, &command->status, 0) < 0 && errno == EINTR)
		;
	command->lived_ns = (uint64_t)(now_ns(CLOCK_MONOTONIC) - began);
	return -err;
}

int run_command_repeat_exit(const struct run_command *command)
{
	static const struct rlimit none = { 0 };
	int signo = WTERMSIG(command->status);
	sigset_t one;

	if (!WIFSIGNALED(command->status))
		return WEXITSTATUS(command->status);
	setrlimit(RLIMIT_CORE, &none); /* the command's is the one that tells something */
	signal(signo, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(signo);
	return 128 + signo;
}
