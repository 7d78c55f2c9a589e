/* The program's threads, as async-profiler sees them in /proc/self/task: without the agent's threads and its own.
 *
 * As long as only the main thread exists, the kernel is not asked for a list. A list makes the kernel create an
 * entry for each thread, which it removes when the thread ends. A process that waits for this one removes the
 * remaining entries, and spins while a thread is about to remove its own. A thread with a high nice value may get no
 * processor for that. */
#ifndef ASYNCPROF_THREAD_LIST_H
#define ASYNCPROF_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True when the kernel counts only the main thread of the program; false when that is unknown. For own threads:
 * waits some milliseconds while a thread is being created. */
bool thread_list_is_only_main(void);

/* True when TID is neither a thread of the agent nor of async-profiler. */
bool thread_list_contains(pid_t tid);

/* Time since the calling thread's start; UINT64_MAX if that is unknown. */
uint64_t thread_list_own_age_ns(void);

#endif
