/* A file without a name, for what is too large for memory that one process alone holds, or is handed on by
 * its descriptor. */
#ifndef CORE_MEMORY_FILE_H
#define CORE_MEMORY_FILE_H

/* One in memory, which /proc shows by NAME. A kernel that has none of these (before 3.17), or a filter that
 * refuses them, leaves a file of a directory for temporary files, which is gone as soon as it is made.
 * Returns a descriptor that keeps out of the program's way (core/fd.h), or -errno. */
int memory_file_open(const char *name);

/* One in DIRECTORY, on whatever device that is. Returns as memory_file_open does. */
int memory_file_open_in(const char *directory);

#endif
