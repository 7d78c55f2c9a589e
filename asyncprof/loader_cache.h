/* The dynamic linker's cache, as ldconfig(8) writes it: paths of libraries by soname. */
#ifndef ASYNCPROF_LOADER_CACHE_H
#define ASYNCPROF_LOADER_CACHE_H

#include <limits.h>

/* Find SONAME, for programs of this architecture, in the cache FD, which is not trusted. Reads little: entries are
 * sorted. Returns 0 and sets PATH, which begins with a slash and may not exist; or -ENOENT. */
int loader_cache_find(char path[PATH_MAX], const char *soname, int fd);

#endif
