/* The control group that a process is in, which names its container. */
#ifndef UPLOAD_AWS_CGROUP_H
#define UPLOAD_AWS_CGROUP_H

/* The path in TEXT, what /proc/PID/cgroup holds: that of the unified hierarchy, else the first
 * line's. Points into TEXT, which is cut up. NULL when there is none. */
char *cgroup_path(char *text);

#endif
