/* Where async-profiler's descriptors are while its code runs in a thread of the program.
 *
 * They lie in a table apart (core/own_fds.h): that of the thread that has it loaded, and of the threads
 * that it starts from there. But async-profiler also works in
 * threads of the program's, in their signal handlers too: it writes what it has sampled, and reads
 * libraries that the program loads. What it does there with descriptors is handed in here, done by a
 * thread that has that table, and waited for. */
#ifndef ASYNCPROF_FD_PROXY_H
#define ASYNCPROF_FD_PROXY_H

#include <stdbool.h>

#define FD_PROXY_ARGUMENTS 6

/* A call; it returns what the caller gets, and may set errno. */
typedef long fd_proxy_function(const long arguments[FD_PROXY_ARGUMENTS]);

/* Start the thread behind it. On the engine's thread, with a table of its own. Returns 0, also when it is
 * open, or -errno. */
int fd_proxy_start(void);

/* No more is taken in, and the thread ends. What was taken in is done. */
void fd_proxy_stop(void);

/* Have CALL made in a thread that has the engine's descriptors, which may be this one. Returns what
 * it does, with errno; where that is not to be had any more, -1 and EBADF. Any thread,
 * async-signal-safe where CALL is. */
long fd_proxy_call(fd_proxy_function *call, const long arguments[FD_PROXY_ARGUMENTS]);

/* True when fd_proxy_call() makes the call in this thread: in one that has the table, also where another
 * library has started it from such a thread. Async-signal-safe, errno preserved; a system call the first
 * time in each thread. */
bool fd_proxy_is_local(void);

/* True when the engine's descriptors are not in the program's table. Async-signal-safe. */
bool fd_proxy_has_own_table(void);

/* Have the thread, where there is one, look now at what it has to give up (core/privileges.h). */
void fd_proxy_check_privileges(void);

/* In a forked child, which has none of the engine's descriptors. */
void fd_proxy_reset_in_child(void);

#endif
