/* Parses /proc/PID/cgroup. */
#include "core/text/cgroup.h"

#include <string.h>

/* "ID:CONTROLLERS:PATH", where only the path may contain more colons; see cgroups(7). */
static bool cgroup_parse(struct cgroup *line, const char *text, size_t length)
{
	const char *id = memchr(text, ':', length);
	const char *controllers = id ? id + 1 : NULL;
	const char *end =
		id ? memchr(controllers, ':', length - (size_t)(controllers - text)) : NULL;

	if (!end)
		return false;
	*line = (struct cgroup){
		.controllers = controllers,
		.path = end + 1,
		.length = length - (size_t)(end + 1 - text),
		.is_unified = !strncmp(text, "0::", 3),
	};
	return true;
}

bool cgroup_next(struct cgroup *line, const char **text)
{
	while (**text) {
		const char *start = *text;
		size_t length = strcspn(start, "\n");

		*text += length + (start[length] == '\n');
		if (cgroup_parse(line, start, length))
			return true;
	}
	return false;
}

bool cgroup_has(const struct cgroup *line, const char *controller)
{
	size_t length = strlen(controller);

	for (const char *at = line->controllers; *at != ':';) {
		size_t here = strcspn(at, ",:");

		if (here == length && !strncmp(at, controller, length))
			return true;
		at += here + (at[here] == ',');
	}
	return false;
}

char *cgroup_path(char *text)
{
	struct cgroup line, found = { 0 };
	const char *rest = text;

	while (!found.is_unified && cgroup_next(&line, &rest))
		if (!found.path || line.is_unified)
			found = line;
	if (!found.path)
		return NULL;
	text += found.path - text;
	text[found.length] = '\0';
	return text;
}
