/* Search for a library by its soname.
 *
 * dlopen(3) also searches the working directory, if LD_LIBRARY_PATH or the program's run path has an empty or relative
 * entry. It would run a file that another user placed there. This search ignores relative directories. */
#ifndef ASYNCPROF_LIBRARY_PATH_H
#define ASYNCPROF_LIBRARY_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Find a library with the file name SONAME among the loaded libraries, then where the dynamic linker searches, then in
 * the directory of this library. The linker searches the program's run path (glibc only), the LD_LIBRARY_PATH of the
 * process's start, its own directories and its cache. Last, unless it is NULL, find the file OWN_FILE, whose path is relative to that directory. Returns
 * 0 and sets PATH, for dlopen(3), or -ENOENT. Not in signal context, and not while the caller holds a lock of the
 * dynamic linker. */
int library_path_find(char path[PATH_MAX], const char *soname, const char *own_file);

#define LIBRARY_PATH_MUSL_MAX 4096

/* Return the directories that musl's dynamic linker, the file LINKER, searches: separated by colons or newlines, in
 * TEXT or constant. */
const char *library_path_read_musl(char text[LIBRARY_PATH_MUSL_MAX], const char *linker);

/* True when a library with this file name is loaded. Then PATH, unless it is NULL, receives the dynamic linker's
 * name of it. Not in signal context, and not while the caller holds a lock of the dynamic linker. */
bool library_path_find_loaded(char path[PATH_MAX], const char *file_name);

/* True when the program is Java, or will be: its launcher's library or the JVM is loaded. Not in signal context, and
 * not while the caller holds a lock of the dynamic linker. */
bool library_path_program_is_java(void);

/* True when library_path_find() would probably find SONAME, or, in a Java program, JAVA_FILE as its OWN_FILE (NULL:
 * none). Checks the likely directories, in some microseconds instead of a hundred, unless the program has a run path. Only in the constructor, because it
 * uses the program's current environment. */
bool library_path_is_likely(const char *soname, const char *java_file);

#endif
