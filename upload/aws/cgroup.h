/* Control group of a process; its path identifies the container. */
#ifndef UPLOAD_AWS_CGROUP_H
#define UPLOAD_AWS_CGROUP_H

/* The path in TEXT, the content of /proc/PID/cgroup: that of the unified hierarchy, else that of
 * the first line. Points into TEXT, which is modified. NULL if there is none. */
char *cgroup_path(char *text);

#endif
