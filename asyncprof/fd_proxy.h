/* Descriptor proxy: a thread that does file calls for async-profiler.
 *
 * async-profiler's descriptors are in a separate table (core/own_fds.h), which only the thread `asprof-engine` and its
 * descendants have. But async-profiler also runs in threads of the program, and in their signal handlers: it writes
 * samples, and reads libraries that the program loads. There its calls on descriptors are sent to the proxy thread,
 * which has that table, and the caller waits for the result. */
#ifndef ASYNCPROF_FD_PROXY_H
#define ASYNCPROF_FD_PROXY_H

#include <stdbool.h>

#define FD_PROXY_ARGUMENTS 6

/* A call on descriptors. Returns the result for the caller, and may set errno. */
typedef long fd_proxy_function(const long arguments[FD_PROXY_ARGUMENTS]);

/* Start the proxy thread. On the thread `asprof-engine`, with its own table. Returns 0, also when it already
 * runs, or -errno. */
int fd_proxy_start(void);

/* Refuse new calls, and make the thread end. Accepted calls are done: the caller does what the thread has not begun, so
 * the caller must have the engine's descriptors. */
void fd_proxy_stop(void);

/* Run FUNCTION in a thread with the engine's descriptors, which may be the calling thread. Returns its result, with
 * errno; -1 and EBADF when the proxy has stopped, and in a forked child. Any thread; async-signal-safe if FUNCTION is. */
long fd_proxy_call(fd_proxy_function *function, const long arguments[FD_PROXY_ARGUMENTS]);

/* True when fd_proxy_call() runs the function in the calling thread, because it has the engine's table or there is
 * only one. Another library may have created the thread from one that has it. Async-signal-safe, preserves errno; one system call the first time
 * in each thread. */
bool fd_proxy_is_local(void);

/* True when the engine's descriptors are not in the program's table. Async-signal-safe. */
bool fd_proxy_has_own_table(void);

/* Make the proxy thread, if it runs, check its privileges now (core/privileges.h). */
void fd_proxy_check_privileges(void);

/* Reset the state in a forked child, which has none of the engine's descriptors. */
void fd_proxy_reset_in_child(void);

#endif
