/* Reader for the small virtual files in /proc and /sys. */
#ifndef ENGINE_PROCESS_PROC_FILE_H
#define ENGINE_PROCESS_PROC_FILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Read up to SIZE - 1 bytes of PATH with one read(2) into TEXT and terminate it. Returns the
 * length, or -errno with an empty TEXT. */
ssize_t proc_file_read(const char *path, char *text, size_t size);

/* Same for the file NAME in the /proc directory of thread TID of this process. */
ssize_t proc_file_read_of(pid_t tid, const char *name, char *text, size_t size);

/* Same for a file with the counts of that thread alone (fd_of_thread_alone()). */
ssize_t proc_file_read_alone(pid_t tid, const char *name, char *text, size_t size);

/* Read the target of the link NAME in that directory into TEXT, cut to SIZE - 1 bytes, and terminate
 * it. Returns the length, or -errno with an empty TEXT. */
ssize_t proc_link_read_of(pid_t tid, const char *name, char *text, size_t size);

/* Read the extended attribute ATTRIBUTE of the file that this link refers to, in the same way. */
ssize_t proc_attribute_read_of(pid_t tid, const char *name, const char *attribute, char *text,
			       size_t size);

/* Open PATH as a text stream, outside the program's range of descriptors. Returns NULL with errno
 * set on failure. */
FILE *proc_file_open(const char *path);

#endif
