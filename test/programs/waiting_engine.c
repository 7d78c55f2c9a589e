/* Replaces async-profiler's library with one whose start takes long: it makes the folder
 * WAITING_ENGINE.begun, and continues when the program has made WAITING_ENGINE.forked. It fails if
 * that takes 3 seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef void writer(const char *text, size_t size);

static const char *wait_for_fork(void)
{
	const char *name = getenv("WAITING_ENGINE");
	char path[512];

	snprintf(path, sizeof(path), "%s.begun", name);
	if (!name || mkdir(path, 0700))
		return "cannot tell the program";
	snprintf(path, sizeof(path), "%s.forked", name);
	for (int i = 0; i < 3000; i++) {
		if (!access(path, F_OK))
			return NULL;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return "the program's fork waits";
}

const char *asprof_execute(const char *command, writer *output)
{
	(void)output;
	return strncmp(command, "start", 5) ? NULL : wait_for_fork();
}

void asprof_init(void)
{
}

const char *asprof_error_str(const char *error)
{
	return error;
}
