/* Effect of the CPU limit of this process's control group. */
#include "engine/process/cpu_limit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/process/proc_file.h"

/* True if WORD is one of the comma-separated words at LIST, which ends at a colon. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (*list && *list != ':') {
		size_t here = strcspn(list, ",:");

		if (here == length && !strncmp(list, word, length))
			return true;
		list += here + (list[here] == ',');
	}
	return false;
}

int cpu_limit_path(const char *groups, char *path, size_t size)
{
	const char *unified = NULL, *cpu = NULL;

	/* "ID:CONTROLLERS:PATH"; version 2 has no controllers there. See cgroups(7). */
	for (const char *line = groups; line && *line; line = strchr(line, '\n')) {
		const char *controllers, *group;

		line += *line == '\n';
		controllers = strchr(line, ':');
		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			break;
		if (list_has(controllers + 1, "cpu"))
			cpu = group + 1;
		else if (!strncmp(line, "0::", 3))
			unified = group + 1;
	}
	if (!cpu && !unified)
		return -ENOENT;
	snprintf(path, size,
		 cpu ? "/sys/fs/cgroup/cpu%.*s/cpu.stat" : "/sys/fs/cgroup%.*s/cpu.stat",
		 (int)strcspn(cpu ? cpu : unified, "\n"), cpu ? cpu : unified);
	return 0;
}

/* Version 1 counts nanoseconds, version 2 microseconds. */
uint64_t cpu_limit_parse(const char *text)
{
	const char *ns = strstr(text, "throttled_time "), *us = strstr(text, "throttled_usec ");

	if (ns)
		return strtoull(strchr(ns, ' '), NULL, 10);
	return us ? strtoull(strchr(us, ' '), NULL, 10) * 1000 : 0;
}

int cpu_limit_throttled(uint64_t *ns)
{
	char groups[4096], path[4096 + 64], text[1024];
	ssize_t length = proc_file_read("/proc/self/cgroup", groups, sizeof(groups));
	int err = length < 0 ? (int)length : cpu_limit_path(groups, path, sizeof(path));

	if (err)
		return err;
	length = proc_file_read(path, text, sizeof(text));
	if (length < 0)
		return (int)length;
	*ns = cpu_limit_parse(text);
	return 0;
}
