/* Control group of a process. */
#include "upload/aws/cgroup.h"

#include <stddef.h>
#include <string.h>

/* "ID:CONTROLLERS:PATH", where only the path may contain more colons; see cgroups(7). */
static char *path_of(char *line)
{
	char *colon = strchr(line, ':');

	colon = colon ? strchr(colon + 1, ':') : NULL;
	return colon ? colon + 1 : NULL;
}

char *cgroup_path(char *text)
{
	char *line, *path, *first = NULL;

	while ((line = strsep(&text, "\n"))) {
		path = path_of(line);
		if (path && !strncmp(line, "0::", 3))
			return path;
		if (!first)
			first = path;
	}
	return first;
}
