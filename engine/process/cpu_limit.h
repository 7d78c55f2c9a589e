/* Effect of the CPU limit of this process's control group. Agent thread only. */
#ifndef ENGINE_PROCESS_CPU_LIMIT_H
#define ENGINE_PROCESS_CPU_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Set *NS to the time for which the limit kept the group off the processors, as the sum of all
 * processors since the group's creation. Returns 0, or -errno if there is no such file. */
int cpu_limit_throttled(uint64_t *ns);

/* Write the path of the group's cpu.stat to PATH, from GROUPS, the contents of /proc/self/cgroup.
 * Returns 0 or -ENOENT. */
int cpu_limit_path(const char *groups, char *path, size_t size);

/* The throttled nanoseconds in TEXT, the contents of cpu.stat in either version; 0 if there are
 * none. */
uint64_t cpu_limit_parse(const char *text);

#endif
