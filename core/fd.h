/* Descriptors that keep out of the program's way. */
#ifndef CORE_FD_H
#define CORE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The agent's descriptors lie from here on, or in the upper half of what RLIMIT_NOFILE allows where
 * that begins lower: programs count on the lowest free number, and select(2) on small ones. */
#define FD_FLOOR 400

/* Take FD, or the error in errno when FD is negative, and move it up there, close-on-exec. Returns
 * the new descriptor, or -errno with FD closed. */
int fd_raise(int fd);

/* The same for what a system call of our own has returned, which is -errno where it failed. */
int fd_raise_result(int fd);

/* Open to be read what /proc has of thread TID of this process as NAME; "task" of any of them lists all, with O_DIRECTORY
 * in FLAGS. Where it can be, by a path that leads past what /proc shows of the process: the parent takes that away at the
 * end, and spins while a thread does the same with entries of its own there. Returns the descriptor, raised, or -errno. */
int fd_of_thread(pid_t tid, const char *name, int flags);

/* /proc shows this process by the ids that it has itself. */
bool fd_ids_are_as_here(void);

/* Write all of DATA at OFFSET, or at the current position when OFFSET is negative.
 * Returns 0 or -errno. */
int fd_write(int fd, const void *data, size_t length, off_t offset);

/* Read exactly LENGTH bytes at OFFSET. Returns 0, -errno, or -ENODATA at an early end. */
int fd_read(int fd, void *data, size_t length, off_t offset);

/* Append LENGTH bytes of IN from OFFSET on to OUT. Returns 0, -errno, or -ENODATA. */
int fd_copy(int out, int in, off_t offset, uint64_t length);

#endif
