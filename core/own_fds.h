/* Separate descriptor table of the agent's threads.
 *
 * Threads of a process share one descriptor table by default. While one thread uses it, the kernel counts no
 * references to its files (__fget_light in Linux's fs/file.c). With a second thread, each read(2), write(2) and
 * poll(2) of the program needs two more atomic operations. A separate table avoids that.
 *
 * It also keeps the descriptors apart. The program and its children do not see the agent's, cannot close them, and
 * have no fewer numbers. The agent does not close a number that the program chose itself, as a shell does. */
#ifndef CORE_OWN_FDS_H
#define CORE_OWN_FDS_H

#include <stdbool.h>

/* The descriptor table that a thread uses. */
enum own_fds { OWN_FDS_PROGRAM, OWN_FDS_AGENT, OWN_FDS_ENGINE };

/* Give the calling thread an empty table, which threads that it starts later inherit. For an own thread without open
 * files. Opens nothing in the program's table. Returns 0, also when the thread already has one. Returns -errno, with
 * nothing changed, before Linux 5.9 and under a seccomp filter that forbids it. */
int own_fds_leave(void);

/* The same for an engine's thread, whose table is also separate from the agent's. */
int own_fds_leave_for_engine(void);

/* Return the table of the calling thread. A thread that is not an own thread has OWN_FDS_PROGRAM, unless
 * own_fds_inherit() set another. Async-signal-safe. */
enum own_fds own_fds_here(void);

/* True when the calling thread uses the agent's table. */
static inline bool own_fds_apart(void)
{
	return own_fds_here() == OWN_FDS_AGENT;
}

/* For a thread that starts: FDS is own_fds_here() of the thread that creates it. */
void own_fds_inherit(enum own_fds fds);

/* In a thread with a separate table: duplicate the program's descriptor FD, for writing. The caller closes the
 * result. Under a seccomp filter, which may end the process at that call, reopen the file; a socket cannot be
 * reopened. Returns -EBADF when FD is closed there, or after the main thread has called pthread_exit(3); or another
 * -errno. */
int own_fds_of_program(int fd);

#endif
