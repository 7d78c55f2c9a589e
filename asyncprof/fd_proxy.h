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

#define DESK_ARGUMENTS 6

/* A call; it returns what the caller gets, and may set errno. */
typedef long desk_call(const long arguments[DESK_ARGUMENTS]);

/* Start the thread behind it. On the engine's thread, with a table of its own. Returns 0, also when it is
 * open, or -errno. */
int desk_open(void);

/* No more is taken in, and the thread ends. What was taken in is done. */
void desk_close(void);

/* Have CALL made in a thread that has the engine's descriptors, which may be this one. Returns what
 * it does, with errno; where that is not to be had any more, -1 and EBADF. Any thread,
 * async-signal-safe where CALL is. */
long desk_ask(desk_call *call, const long arguments[DESK_ARGUMENTS]);

/* True when desk_ask() makes the call in this thread: in one that has the table, also where another
 * library has started it from such a thread. Async-signal-safe, errno preserved; a system call the first
 * time in each thread. */
bool desk_is_here(void);

/* True when the engine's descriptors are not in the program's table. Async-signal-safe. */
bool desk_is_apart(void);

/* Have the thread, where there is one, look now at what it has to give up (core/privileges.h). */
void desk_look(void);

/* In a forked child, which has none of the engine's descriptors. */
void desk_forget(void);

#endif
