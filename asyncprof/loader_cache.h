/* The cache of the dynamic loader's, as ldconfig(8) writes it: where libraries are, by their sonames. */
#ifndef ASYNCPROF_LOADER_CACHE_H
#define ASYNCPROF_LOADER_CACHE_H

#include <limits.h>

/* Find SONAME, for programs like this one, in the cache that FD has open and that may hold anything.
 * Reads little of it: entries are in order. Returns 0 and fills in PATH, which begins with a slash and
 * may lead nowhere; or -ENOENT. */
int loader_cache_find(char path[PATH_MAX], const char *soname, int fd);

#endif
