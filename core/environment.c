/* Environment of the process at its start. */
#include "core/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *const *at_start;

void environment_set_at_start(char *const *entries)
{
	at_start = entries;
}

char *const *environment_at_start(void)
{
	return at_start ? at_start : environ;
}

const char *environment_get(const struct environment *environment, const char *name)
{
	size_t length = strlen(name);

	for (char *const *entry = environment->entries; entry && *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return (*entry)[length + 1] ? *entry + length + 1 : NULL;
	return NULL;
}

char **environment_without_agent(char *const *entries)
{
	size_t count = 0, kept = 0;
	char **copy;

	while (entries && entries[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++)
		if (strncmp(entries[i], "LD_PRELOAD=", 11) &&
		    strncmp(entries[i], "ASPROF_AGENT_", 13))
			copy[kept++] = entries[i];
	return copy;
}
