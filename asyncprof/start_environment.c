/* The environment as async-profiler and the image see it: as the program began with it. */
#include "asyncprof/start_environment.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static char *copy; /* entries, each with its NUL, and an empty one */

int start_environment_capture(char *const *environment)
{
	size_t bytes = 1, length;
	char *at;

	for (size_t i = 0; environment && environment[i]; i++)
		bytes += strlen(environment[i]) + 1;
	at = malloc(bytes);
	if (!at)
		return -ENOMEM;
	copy = at;
	for (size_t i = 0; environment && environment[i]; i++) {
		length = strlen(environment[i]) + 1;
		if (length > 1)
			memcpy(at, environment[i], length);
		at += length > 1 ? length : 0;
	}
	*at = '\0';
	return 0;
}

const char *start_environment(void)
{
	return copy ? copy : "";
}

char *engine_getenv(const char *name)
{
	size_t length = strlen(name);

	for (char *entry = copy; entry && *entry; entry += strlen(entry) + 1)
		if (!strncmp(entry, name, length) && entry[length] == '=')
			return entry + length + 1;
	return NULL;
}
