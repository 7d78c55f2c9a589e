/* doctor --try: the program's processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "decoder/commands/commands.h"
#include "decoder/commands/doctor_try.h"

#define RUN_NS  2000000000u
#define TERM_NS 3000000000u /* more than EXIT_TIMEOUT below */
#define KILL_NS 2000000000u

/* SIGKILL is repeated, because new processes may start meanwhile. */
#define KILL_PAUSE_NS 50000000u

/* Settings of the trial: short intervals, and only a directory as destination. NULL: not set. */
static const struct {
	const char *name, *value;
} settings[] = {
	{ OPTION_PREFIX "START_DELAY", "0" },
	{ OPTION_PREFIX "CPU_INTERVAL", "10ms" },
	{ OPTION_PREFIX "WALL_INTERVAL", "50ms" },
	/* SIGKILL, or the end of a Go program, loses only the last interval. */
	{ OPTION_PREFIX "REPORTING_INTERVAL", "1s" },
	{ OPTION_PREFIX "EXIT_TIMEOUT", "2s" },
	{ OPTION_PREFIX "LISTEN", "off" },
	{ OPTION_PREFIX "METADATA", "none" },
	{ OPTION_PREFIX "LOCAL_MAX_AGE", NULL },
	{ OPTION_PREFIX "SPOOL_DIR", NULL },
	{ OPTION_PREFIX "S3_BUCKET", NULL },
	{ OPTION_PREFIX "PYROSCOPE_URL", NULL },
	{ OPTION_PREFIX "OTLP_ENDPOINT", NULL },
};

static int child_set_environment(const char *directory)
{
	int err = run_set_preload() || setenv(OPTION_PREFIX "LOCAL_DIR", directory, 1);

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		err |= settings[i].value ? setenv(settings[i].name, settings[i].value, 1)
					 : unsetenv(settings[i].name);
	return err ? -ENOMEM : 0;
}

/* Execute ARGV, or write the error to OUT. The program's output goes to standard error. */
__attribute__((noreturn)) static void child_execute(char **argv, const char *directory,
						    const sigset_t *mask, int out)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	err = child_set_environment(directory);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (!err) {
		execvp(*argv, argv);
		err = -errno;
	}
	_exit(write(out, &err, sizeof(err)) < 0);
}

/* Returns 0 if the program runs. */
static int child_start(pid_t *pid, char **argv, const char *directory, const sigset_t *mask)
{
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	*pid = fork();
	if (!*pid)
		child_execute(argv, directory, mask, ends[1]);
	if (*pid < 0)
		err = -errno;
	else
		setpgid(*pid, *pid);
	close(ends[1]);
	if (!err && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(ends[0]);
	return err;
}

/* Children of this process that it had before, as of a shell that has executed doctor. They are left alone. */
#define FOREIGN_MAX 1024

static pid_t foreign[FOREIGN_MAX];
static size_t foreign_count;

static bool is_foreign(pid_t pid)
{
	size_t i = 0;

	while (i < foreign_count && foreign[i] != pid)
		i++;
	return i < foreign_count;
}

/* It has ended, so its number may be reused. */
static void foreign_remove(pid_t pid)
{
	for (size_t i = 0; i < foreign_count; i++)
		if (foreign[i] == pid)
			foreign[i--] = foreign[--foreign_count];
}

/* The list of all children of this process; NULL where the kernel has none. */
static FILE *children_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return fopen(path, "re");
}

static void foreign_read(void)
{
	FILE *list = children_open();

	foreign_count = 0;
	while (list && foreign_count < FOREIGN_MAX &&
	       fscanf(list, "%d", &foreign[foreign_count]) == 1)
		foreign_count++;
	if (list)
		fclose(list);
}

/* True if children of the program exist. (The kernel may omit some from its list while others end.) */
static bool children_exist(pid_t leader)
{
	FILE *list = foreign_count ? children_open() : NULL;
	siginfo_t info;
	bool exist = !list || !waitid(P_PID, (id_t)leader, &info, WEXITED | WNOWAIT | WNOHANG);
	int pid;

	while (list && !exist && fscanf(list, "%d", &pid) == 1)
		exist = !is_foreign(pid);
	if (list)
		fclose(list);
	return exist;
}

/* Wait for all children of the program until UNTIL_NS, or until SIGINT, SIGTERM or SIGHUP. Returns 0 if there is no child left,
 * -ETIMEDOUT, or -EINTR. */
static int children_wait(struct doctor_trial *trial, pid_t leader, const sigset_t *set,
			 uint64_t until_ns)
{
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns(), left_ns = until_ns - now_ns;
		struct timespec left = { .tv_sec = (time_t)(left_ns / 1000000000),
					 .tv_nsec = (long)(left_ns % 1000000000) };
		int one, signo;
		pid_t ended = waitpid(-1, &one, WNOHANG);

		if (ended == leader)
			trial->status = one;
		if (ended > 0) {
			foreign_remove(ended);
			continue;
		}
		if (ended < 0 || !children_exist(leader))
			return 0;
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		signo = sigtimedwait(set, NULL, &left);
		if (signo > 0 && signo != SIGCHLD) {
			trial->signo = signo;
			return -EINTR;
		}
	}
}

/* True while this process has a child in the group, so that its number is not reused. */
static bool group_exists(pid_t group)
{
	siginfo_t info = { 0 };

	return !waitid(P_PGID, (id_t)group, &info, WEXITED | WNOWAIT | WNOHANG);
}

/* Signal the program's group, and children outside it: processes that have left the group become children of this
 * subreaper. */
static void children_signal(pid_t group, int signo)
{
	FILE *list = children_open();
	int pid;

	if (group_exists(group))
		kill(-group, signo);
	while (list && fscanf(list, "%d", &pid) == 1)
		if (getpgid(pid) != group && !is_foreign(pid))
			kill(pid, signo);
	if (list)
		fclose(list);
}

/* End all processes of the program. */
static void children_end(struct doctor_trial *trial, pid_t leader, const sigset_t *set)
{
	uint64_t now_ns = clock_monotonic_ns(), killed_ns;

	children_signal(leader, SIGTERM);
	if (!children_wait(trial, leader, set, now_ns + TERM_NS))
		return;
	killed_ns = clock_monotonic_ns();
	do {
		children_signal(leader, SIGKILL);
		now_ns = clock_monotonic_ns();
	} while (children_wait(trial, leader, set, now_ns + KILL_PAUSE_NS) &&
		 now_ns < killed_ns + KILL_NS);
}

/* SIGCHLD, and the signals that end doctor. */
static void waited_signals(sigset_t *set)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (!sigaction(ending[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(set, ending[i]);
}

int doctor_try_run(struct doctor_trial *trial, char **argv, const char *directory)
{
	uint64_t started_ns;
	sigset_t set, before;
	pid_t leader = -1;
	int err;

	waited_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	foreign_read();
	err = child_start(&leader, argv, directory, &before);
	started_ns = clock_monotonic_ns();
	if (leader > 0) {
		int waited = children_wait(trial, leader, &set, started_ns + RUN_NS);

		trial->is_ended = waited == -ETIMEDOUT;
		trial->seconds = (double)(clock_monotonic_ns() - started_ns) / 1e9;
		if (waited)
			children_end(trial, leader, &set);
		if (waited == -EINTR)
			err = waited;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
