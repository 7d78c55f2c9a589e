/* Effect of the CPU limit of this process's control group. */
#include "engine/process/cpu_limit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/cgroup.h"
#include "engine/process/proc_file.h"

int cpu_limit_path(const char *groups, char *path, size_t size)
{
	struct cgroup line, found = { 0 };
	bool has_cpu = false;

	while (!has_cpu && cgroup_next(&line, &groups)) {
		has_cpu = cgroup_has(&line, "cpu");
		if (has_cpu || line.is_unified)
			found = line;
	}
	if (!found.path)
		return -ENOENT;
	snprintf(path, size, "/sys/fs/cgroup%s%.*s/cpu.stat", has_cpu ? "/cpu" : "",
		 (int)found.length, found.path);
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
