/* The list of generated code that its generator writes to /tmp/perf-PID.map. Agent thread only. */
#ifndef ENGINE_PROCESS_PERF_LIST_H
#define ENGINE_PROCESS_PERF_LIST_H

#include <stddef.h>
#include <sys/stat.h>

/* Write the path for this process to PATH, which has SIZE bytes. */
void perf_list_path(char *path, size_t size);

/* Open the list at PATH and set *ST. Any user may create files there, and lists stay when their process ends. So these
 * are refused: links, files that are not regular, files of another user, and files that were last written before this
 * process started. Returns a high descriptor, or -errno. */
int perf_list_open(const char *path, struct stat *st);

#endif
