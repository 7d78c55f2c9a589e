/* A descriptor table for the agent's threads, apart from the program's.
 *
 * All threads of a process share one table, unless told otherwise. While a single thread uses it
 * the kernel counts no references to the files in it (__fget_light in Linux's fs/file.c); from the
 * second thread on each read(2), write(2) and poll(2) of the program takes two atomic operations
 * more. On a table of our own that second thread is not us. Nor does the program, or a child of it,
 * then have our descriptors, run short of numbers by them, or close them; and a number that the
 * program takes for its own, as a shell does, is not one that we are about to close. */
#ifndef CORE_OWN_FDS_H
#define CORE_OWN_FDS_H

#include <stdbool.h>

/* Whose table a thread has. */
enum own_fds { OWN_FDS_PROGRAM, OWN_FDS_AGENT, OWN_FDS_ENGINE };

/* Give the calling thread, and those that it starts from now on, an empty table. For a thread of
 * ours that has nothing open. Opens nothing in the program's table. Returns 0, also where the thread
 * has one already; or -errno, and then nothing has changed: before Linux 5.9, and under a seccomp
 * filter that refuses it. */
int own_fds_leave(void);

/* The same for an engine's thread, whose table is to be another than the agent's, too. */
int own_fds_leave_for_engine(void);

/* In a thread of ours, whose it is; in any other OWN_FDS_PROGRAM, unless it was told that it inherits
 * one. Async-signal-safe. */
enum own_fds own_fds_here(void);

/* True where that is the agent's. */
static inline bool own_fds_apart(void)
{
	return own_fds_here() == OWN_FDS_AGENT;
}

/* For a thread that is being started: as own_fds_here() was in the one that starts it. */
void own_fds_inherit(enum own_fds fds);

/* In a thread whose table is apart, for writing: a duplicate, for the caller to close, of what FD
 * is in the program. Under a seccomp filter, which may end the process at the call for that, the file
 * is opened anew, which a socket cannot be. Returns -EBADF when it is closed there, and also once
 * the main thread has called pthread_exit(3); or another -errno. */
int own_fds_of_program(int fd);

#endif
