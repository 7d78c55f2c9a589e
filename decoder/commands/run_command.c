/* Child process of `run`. Signals that `run` receives are forwarded to it. */
#include "decoder/commands/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/tracing/tracer.h"
#include "core/clock.h"
#include "decoder/output/message.h"

static volatile pid_t command_pid;

static struct sigaction inherited_sigchld = { .sa_handler = SIG_DFL };

void run_command_reset_sigchld(void)
{
	static const struct sigaction with_status = { .sa_handler = SIG_DFL };

	sigaction(SIGCHLD, &with_status, &inherited_sigchld);
}

/* A terminal signals all processes of its foreground group, so the command has already received such a signal. */
static void forward_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0)
		kill(command_pid, signo);
	errno = saved;
}

static const int forwarded_signals[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
					 SIGUSR1, SIGUSR2, SIGWINCH };

/* Also for signals that are ignored here, as SIGINT is in a background job of a script: the command may handle them. */
static void install_signal_handlers(void)
{
	struct sigaction action = { .sa_sigaction = forward_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART };

	for (size_t i = 0; i < sizeof(forwarded_signals) / sizeof(forwarded_signals[0]); i++)
		sigaction(forwarded_signals[i], &action, NULL);
}

/* In the child. */
static void child_start_tracer(const char *program, const char *payload)
{
	int err = tracer_start(payload);

	if (err)
		message_print(
			"run: %s will not be profiled: it is statically linked, and it cannot be "
			"traced: %s",
			program, strerror(-err));
}

/* In the child: execute ARGV, or write errno to OUT. */
static void child_execute(char **argv, const char *payload, const sigset_t *mask, int out)
{
	int err;

	if (payload)
		child_start_tracer(*argv, payload);
	sigaction(SIGCHLD, &inherited_sigchld, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(*argv, argv);
	err = errno;
	if (write(out, &err, sizeof(err)) < 0)
		_exit(1);
	_exit(1);
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

int run_command_wait(struct run_command *command, char **argv, const char *payload)
{
	sigset_t all, mask;
	int ends[2], err = 0;
	struct rusage usage = { 0 };
	uint64_t started_ns;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	*command = (struct run_command){ .argv = argv,
					 .is_traced = payload,
					 .started_ns = (int64_t)clock_time_ns(&now) };
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	/* Handlers must not run in the child, nor before command_pid is set. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	started_ns = clock_monotonic_ns();
	command->pid = fork();
	if (!command->pid)
		child_execute(argv, payload, &mask, ends[1]);
	if (command->pid < 0)
		err = errno;
	command_pid = command->pid;
	if (!err)
		install_signal_handlers();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	if (!err && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = 0; /* no error: it runs */
	close(ends[0]);
	while (command->pid > 0 && wait4(command->pid, &command->status, 0, &usage) < 0 &&
	       errno == EINTR)
		;
	signal(SIGPIPE, SIG_IGN); /* a message without a reader must not end `run` */
	command->lived_ns = clock_monotonic_ns() - started_ns;
	command->cpu_ns = time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
	return -err;
}

int run_command_repeat_exit(const struct run_command *command)
{
	static const struct rlimit none = { 0 };
	int signo = WTERMSIG(command->status);
	sigset_t one;

	if (!WIFSIGNALED(command->status))
		return WEXITSTATUS(command->status);
	setrlimit(RLIMIT_CORE, &none); /* only the command's core file is useful */
	signal(signo, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(signo);
	return 128 + signo;
}
