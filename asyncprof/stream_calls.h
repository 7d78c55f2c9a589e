/* Replacements for the C library's functions that read lines and directories, for async-profiler. The C library's
 * streams take locks of the program's heap. Descriptors are the same as in asyncprof/fd_calls.h. */
#ifndef ASYNCPROF_STREAM_CALLS_H
#define ASYNCPROF_STREAM_CALLS_H

#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>

/* Install the replacements in the library that INSIDE points into. If it also calls other functions of streams, it
 * gets the C library's streams. Returns 0, -ENOTSUP when it calls other functions of directories, or -errno. */
int stream_calls_install(const void *inside);

/* For reading only. */
FILE *engine_fopen(const char *path, const char *mode);
FILE *engine_fdopen(int fd, const char *mode);

/* For these streams and, except for directories, those of the C library. */
char *engine_fgets(char *line, int size, FILE *file);
ssize_t engine_getdelim(char **line, size_t *size, int end, FILE *file);
int engine_fclose(FILE *file);

DIR *engine_opendir(const char *path);
struct dirent *engine_readdir(DIR *dir);
void engine_rewinddir(DIR *dir);
int engine_closedir(DIR *dir);

#endif
