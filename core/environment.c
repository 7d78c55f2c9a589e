/* A copy of the process's environment. */
#include "core/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/secret.h"

int environment_copy(struct environment *out, char *const *entries)
{
	size_t count = 0;

	while (entries && entries[count])
		count++;
	out->entries = calloc(count + 1, sizeof(*out->entries));
	if (!out->entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		out->entries[i] = strdup(entries[i]);
		if (!out->entries[i]) {
			environment_free(out);
			return -ENOMEM;
		}
	}
	return 0;
}

void environment_free(struct environment *environment)
{
	if (!environment->entries)
		return;
	for (char **entry = environment->entries; *entry; entry++)
		secret_free(*entry); /* AWS_SECRET_ACCESS_KEY is one of them */
	free(environment->entries);
	environment->entries = NULL;
}

const char *environment_get(const struct environment *environment, const char *name)
{
	size_t length = strlen(name);

	if (!environment->entries)
		return NULL;
	for (char **entry = environment->entries; *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return (*entry)[length + 1] ? *entry + length + 1 : NULL;
	return NULL;
}
