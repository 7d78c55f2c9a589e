/* Names of threads that end before async-profiler reads them.
 *
 * When async-profiler finishes a chunk it lists the program's threads, and reads the name of each thread that has none
 * yet. A thread that has ended by then would have no name. So the thread's own samples request that the thread
 * `asprof-engine` reads the name while the program's thread lives. Later the list has this thread as well. */
#ifndef ASYNCPROF_THREAD_NAMES_H
#define ASYNCPROF_THREAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define THREAD_NAME_BYTES 16 /* as in /proc/TID/comm, with a newline at its end */

/* Count a sample of the calling thread. True if a name was requested: then thread `asprof-engine` must call
 * thread_names_read(). Async-signal-safe; one system call for the first, second, fourth, eighth sample and so on. */
bool thread_names_request(void);

/* The rest is for the thread `asprof-engine`. */

/* Read the requested names. */
void thread_names_read(void);

/* Before a start, at which async-profiler forgets all names. */
void thread_names_reset(void);

/* Show the names to async-profiler, until the call with false, which drops them. */
void thread_names_show(bool is_shown);

/* Return the id of the next thread whose name is shown, and advance *POSITION, which begins with 0; 0: no more, or the
 * caller is another thread. */
pid_t thread_names_next(size_t *position);

/* Copy the shown name of thread TID to NAME. Returns its length, or 0. */
size_t thread_names_copy(pid_t tid, char name[THREAD_NAME_BYTES]);

#endif
