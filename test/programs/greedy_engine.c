/* Replaces async-profiler's library, and takes from the program what that library takes: low
 * descriptors of each kind, the limit of their number, standard output, signals. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void writer(const char *text, size_t size);

static void (*after_fault)(int, siginfo_t *, void *);

static void on_fault(int signo, siginfo_t *info, void *context)
{
	after_fault(signo, info, context);
}

static void go_on(int signo, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	signal(signo, SIG_DFL);
}

static const char *take_signals(void)
{
	struct sigaction action;

	sigaction(SIGVTALRM, NULL, &action);
	if (action.sa_handler == SIG_DFL)
		return "SIGVTALRM looks free";
	sigaction(SIGSEGV, NULL, &action);
	after_fault = action.sa_handler == SIG_DFL ? go_on : action.sa_sigaction;
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	return sigaction(SIGSEGV, &action, NULL) ? "no handler" : NULL;
}

static const char *take_descriptors(const char *file)
{
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event) };
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[16];

	if (open(file, O_RDWR | O_CREAT, 0600) < 0 || !opendir("/proc/self") ||
	    syscall(SYS_memfd_create, "greedy", 0) < 0)
		return "cannot open";
	if (!maps || !fgets(line, sizeof(line), maps) || !strchr(line, '-'))
		return "cannot read";
	/* Many containers refuse it, which is fine: then it takes no descriptor. */
	event.config = PERF_COUNT_SW_CPU_CLOCK;
	syscall(SYS_perf_event_open, &event, 0, -1, -1, 0L);
	return NULL;
}

static const char *start(const char *command)
{
	static const struct rlimit most = { 3000, 3000 };
	static const char words[] = "[WARN] not for standard output\n";
	const char *wrong, *file = strstr(command, ",file=") + 6;
	char path[256];

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(file, ","), file);
	wrong = take_descriptors(path);
	if (!wrong)
		wrong = take_signals();
	if (setrlimit(RLIMIT_NOFILE, &most) ||
	    write(STDOUT_FILENO, words, sizeof(words) - 1) != (ssize_t)sizeof(words) - 1)
		return "refused";
	return wrong;
}

const char *asprof_execute(const char *command, writer *output)
{
	(void)output;
	return strncmp(command, "start", 5) ? NULL : start(command);
}

void asprof_init(void)
{
}

const char *asprof_error_str(const char *err)
{
	return err;
}
