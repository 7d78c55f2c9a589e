/* Where a library is that is wanted by its soname alone, and may well be absent.
 *
 * dlopen(3) would look in the working directory too, where LD_LIBRARY_PATH has an empty or a relative
 * entry, or the program a run path of that kind: it would run what somebody else has put there. Here
 * only directories named from the root count. */
#ifndef ASYNCPROF_LIBRARY_PATH_H
#define ASYNCPROF_LIBRARY_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Find SONAME: what is loaded already, then as the loader looks for it (the program's run path,
 * LD_LIBRARY_PATH as the process began with it, the loader's cache and its own directories), then
 * beside this library. Returns 0 and fills in PATH, for dlopen(3), or -ENOENT. Not in signal context,
 * and not while the caller holds a lock of the loader's. */
int library_path_find(char path[PATH_MAX], const char *soname);

#define LIBRARY_PATH_MUSL_MAX 4096

/* Where musl's loader, the file LINKER, looks by itself: directories with a colon or a new line between, in TEXT or
 * constant. */
const char *library_path_read_musl(char text[LIBRARY_PATH_MUSL_MAX], const char *linker);

/* True when a library of that file name is loaded; then PATH, unless it is NULL, is the loader's name
 * of it. Likewise. */
bool library_path_find_loaded(char path[PATH_MAX], const char *file_name);

/* False where library_path_find() would hardly find SONAME, as a look in the likeliest places shows:
 * some microseconds, where that one takes a hundred. In the constructor alone, as it looks at the environment
 * that the program has now. */
bool library_path_is_likely(const char *soname);

#endif
