/* Parses /proc/PID/cgroup: the control groups of a process. */
#ifndef CORE_TEXT_CGROUP_H
#define CORE_TEXT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* A line. Points into the text. */
struct cgroup {
	const char *controllers; /* ends at a colon */
	const char *path;        /* LENGTH bytes */
	size_t length;
	bool is_unified; /* of version 2, which has no controllers there */
};

/* Set LINE to the next valid line of *TEXT, and *TEXT to the line after it. Returns false at the end. */
bool cgroup_next(struct cgroup *line, const char **text);

/* True if CONTROLLER is one of LINE's. */
bool cgroup_has(const struct cgroup *line, const char *controller);

/* Return the path that identifies the container: that of the unified hierarchy, else that of the first line. Points
 * into TEXT, which is modified. NULL if there is none. */
char *cgroup_path(char *text);

#endif
