/* File descriptors with high numbers, which do not disturb the program. */
#ifndef CORE_FD_H
#define CORE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Lowest number of the agent's descriptors; lower where half of RLIMIT_NOFILE is lower. Programs rely on the lowest
 * free number, and select(2) on small numbers. */
#define FD_FLOOR 400

/* Move FD to a high number, close-on-exec. A negative FD means that errno has the error. Returns the new descriptor,
 * or -errno with FD closed. */
int fd_raise(int fd);

/* The same for the result of an own system call, which is -errno on failure. */
int fd_raise_result(int fd);

/* Open the file NAME that /proc has for thread TID of this process, for reading. For a list of all threads use
 * "task" with any TID, and O_DIRECTORY in FLAGS. Returns a high descriptor, or -errno.
 *
 * Where possible the path does not go through /proc entries of the process. The parent removes these at the
 * process's end, and spins while a thread also removes its own there. */
int fd_of_thread(pid_t tid, const char *name, int flags);

/* The same for a file that has counts of the whole process at /proc/TID, such as "io" and "stat": with those of the
 * thread alone. (Those of the process take longer to read in a process of many threads.) */
int fd_of_thread_alone(pid_t tid, const char *name);

/* True when /proc shows this process with the ids that the process itself sees. */
bool fd_ids_are_as_here(void);

/* Write all of DATA at OFFSET, or at the current position when OFFSET is negative. Returns 0 or -errno. */
int fd_write(int fd, const void *data, size_t length, off_t offset);

/* Read exactly LENGTH bytes at OFFSET. Returns 0, -errno, or -ENODATA at an early end of the file. */
int fd_read(int fd, void *data, size_t length, off_t offset);

/* Append LENGTH bytes of IN, from OFFSET on, to OUT. Returns 0, -errno, or -ENODATA. */
int fd_copy(int out, int in, off_t offset, uint64_t length);

#endif
