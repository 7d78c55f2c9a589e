/* Unnamed file for large data, or for data that is passed on by its descriptor. */
#ifndef CORE_MEMORY_FILE_H
#define CORE_MEMORY_FILE_H

/* Create a file in memory; /proc shows it as NAME. Before Linux 3.17, or under a filter that forbids this, it is an
 * unlinked file in a directory for temporary files. Returns a high descriptor (core/fd.h), or -errno. */
int memory_file_open(const char *name);

/* Create an unlinked file in DIRECTORY, on any device. Returns as memory_file_open does. */
int memory_file_open_in(const char *directory);

#endif
