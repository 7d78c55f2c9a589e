/* Guard against crashes of libdw: debug files are read in a child process. */
#include "decoder/symbolize/crash_guard.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoder/output/message.h"

#define EXCLUDED_MAX 16

/* Memory shared by parent and child; NULL: no guard. */
static struct guarded {
	char reading[PATH_MAX]; /* "": no file */
	char excluded[EXCLUDED_MAX][PATH_MAX];
	unsigned excluded_count;
} * guarded;

static bool is_enabled;

void crash_guard_enable(void)
{
	is_enabled = true;
}

void crash_guard_enter(const char *path)
{
	if (guarded)
		snprintf(guarded->reading, sizeof(guarded->reading), "%s", path);
}

void crash_guard_leave(void)
{
	if (guarded)
		guarded->reading[0] = '\0';
}

bool crash_guard_excludes(const char *path)
{
	for (unsigned i = 0; guarded && i < guarded->excluded_count; i++)
		if (!strcmp(guarded->excluded[i], path))
			return true;
	return false;
}

/* Exit by the signal that ended the child. */
static void exit_by_signal(int signal_number)
{
	signal(signal_number, SIG_DFL);
	raise(signal_number);
	exit(128 + signal_number);
}

/* Handle a crash of the child by SIGNAL_NUMBER. Returns if a retry without the current file makes sense. */
static void handle_crash(int signal_number)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	bool crashed = false;

	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		crashed |= signal_number == crashes[i];
	if (!crashed || !guarded->reading[0] || guarded->excluded_count == EXCLUDED_MAX)
		exit_by_signal(signal_number);
	message_print("%s: reading this debug file crashed libdw (%s): only its symbols are used",
		      guarded->reading, strsignal(signal_number));
	strcpy(guarded->excluded[guarded->excluded_count++], guarded->reading);
	guarded->reading[0] = '\0';
}

void crash_guard_start(void)
{
	int status;
	pid_t child;

	if (!is_enabled || guarded)
		return;
	guarded = mmap(NULL, sizeof(*guarded), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (guarded == MAP_FAILED) {
		guarded = NULL;
		return;
	}
	for (;;) {
		child = fork();
		if (child < 0)
			return; /* continue without a guard */
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			return;
		}
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR)
				exit(EXIT_FAILURE);
		if (WIFEXITED(status))
			exit(WEXITSTATUS(status));
		handle_crash(WTERMSIG(status));
	}
}
