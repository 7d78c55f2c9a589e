/* The small files that the kernel makes up, under /proc and /sys. */
#ifndef ENGINE_PROCESS_PROC_FILE_H
#define ENGINE_PROCESS_PROC_FILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Read the first SIZE - 1 bytes of PATH, which one read(2) gives, into TEXT as a string. Returns
 * its length, or -errno with TEXT empty. */
ssize_t proc_file_read(const char *path, char *text, size_t size);

/* The same of NAME in what /proc has of thread TID of this process. */
ssize_t proc_file_read_of(pid_t tid, const char *name, char *text, size_t size);

/* To be read as text, by a descriptor that is none of the program's. NULL with errno set. */
FILE *proc_file_open(const char *path);

#endif
