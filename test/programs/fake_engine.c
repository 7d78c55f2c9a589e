/* Replaces async-profiler's library, and fails on request: FAKE_ENGINE=start, dump or stop. It
 * checks its commands like the real one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void writer(const char *text, size_t size);

#ifndef WITHOUT_EXECUTE
static int initialised;

static const char *start(const char *command)
{
	const char *file = strstr(command, ",file=");
	char path[256];

	if (strncmp(command, "start,event=", 12) || !strstr(command, ",jfr,") || !file)
		return "Bad start command";
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(file + 6, ","), file + 6);
	return open(path, O_RDWR | O_CLOEXEC) < 0 ? "Could not open output file" : NULL;
}

const char *asprof_execute(const char *command, writer *output)
{
	const char *fails = getenv("FAKE_ENGINE");

	if (!initialised || !output)
		abort();
	if (fails && !strncmp(command, fails, strlen(fails)))
		return "told to fail";
	if (!strncmp(command, "start", 5))
		return start(command);
	if (!strcmp(command, "version"))
		output("0.0\n", 4);
	return NULL;
}

void asprof_init(void)
{
	if (initialised)
		abort();
	initialised = 1;
}
#endif

const char *asprof_error_str(const char *err)
{
	return err;
}
