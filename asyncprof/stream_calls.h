/* What async-profiler reads lines and directories by instead of the C library's functions, whose streams take locks of
 * the program's heap. Their descriptors are as all others (asyncprof/fd_calls.h). */
#ifndef ASYNCPROF_STREAM_CALLS_H
#define ASYNCPROF_STREAM_CALLS_H

#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>

/* Of the library that INSIDE points into, as replaced_calls_install(). Where it calls others for streams, too, it gets the C
 * library's. Returns 0, -ENOTSUP where it calls others for directories, or -errno. */
int stream_calls_install(const void *inside);

/* To read, which is all that they are for. */
FILE *engine_fopen(const char *path, const char *mode);
FILE *engine_fdopen(int fd, const char *mode);

/* Of these and, but for the first two, of the C library's. */
char *engine_fgets(char *line, int size, FILE *file);
ssize_t engine_getdelim(char **line, size_t *size, int end, FILE *file);
int engine_fclose(FILE *file);

DIR *engine_opendir(const char *path);
struct dirent *engine_readdir(DIR *dir);
void engine_rewinddir(DIR *dir);
int engine_closedir(DIR *dir);

#endif
