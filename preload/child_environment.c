/* Environment of programs that this process starts.
 *
 * It changes the environment of the process itself: any started program gets that or a copy of it. */
#include "preload/child_environment.h"

#include <stdbool.h>
#include <string.h>

#include "core/loaded_symbol.h"

#define VARIABLE "LD_PRELOAD="

/* Separators of the dynamic linker. */
#define SEPARATORS ": "

static bool item_has_name(const char *item, size_t length, const char *name)
{
	size_t name_length = strlen(name);

	if (length < name_length || memcmp(item + length - name_length, name, name_length) != 0)
		return false;
	return length == name_length || item[length - name_length - 1] == '/';
}

/* Remove NAME from LIST, with the separator after it. */
static void list_remove(char *list, const char *name)
{
	char *to = list, *from = list;

	while (*from) {
		size_t length = strcspn(from, SEPARATORS);
		size_t all = length + strspn(from + length, SEPARATORS);

		if (!length || !item_has_name(from, length, name)) {
			memmove(to, from, all);
			to += all;
		}
		from += all;
	}
	*to = '\0';
	if (!list[strspn(list, SEPARATORS)])
		*list = '\0';
}

static void entries_remove_library(char **entries, const char *name)
{
	char **to = entries;

	for (; *entries; entries++) {
		char *list = *entries + strlen(VARIABLE);
		bool is_it = !strncmp(*entries, VARIABLE, strlen(VARIABLE));

		if (is_it)
			list_remove(list, name);
		if (!is_it || *list)
			*to++ = *entries;
	}
	*to = NULL;
}

void child_environment_remove_library(char **entries)
{
	const char *file = loaded_own_file(), *name;

	if (!entries || !file)
		return;
	name = strrchr(file, '/');
	entries_remove_library(entries, name ? name + 1 : file);
}
