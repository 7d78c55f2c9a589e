/* Copy of the program's initial environment. */
#include "core/start_environment.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/system.h"

/* Large enough for most programs. A larger environment is mapped, which takes longer. */
static char storage[16384];

static char *copy = storage; /* entries, each with its NUL, and an empty entry at the end */

int start_environment_capture(char *const *environment)
{
	size_t bytes = 1, length;
	char *at = storage;

	for (size_t i = 0; environment && environment[i]; i++)
		bytes += strlen(environment[i]) + 1;
	if (bytes > sizeof(storage))
		at = system_map(bytes);
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
	return copy;
}

char *start_environment_get(const char *name)
{
	size_t length = strlen(name);

	for (char *entry = copy; *entry; entry += strlen(entry) + 1)
		if (!strncmp(entry, name, length) && entry[length] == '=')
			return entry + length + 1;
	return NULL;
}
