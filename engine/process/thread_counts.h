/* The kernel's counts for one thread. Agent thread only. */
#ifndef ENGINE_PROCESS_THREAD_COUNTS_H
#define ENGINE_PROCESS_THREAD_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Since the thread's start. Counts that cannot be read do not change. */
struct thread_counts {
	uint64_t cpu_ns, queue_ns; /* on a processor, and in the run queue */
	uint64_t major_faults;
	uint64_t voluntary_switches, involuntary_switches;
	uint64_t bytes_read, bytes_written; /* by system calls, of any descriptor */
};

/* Read the counts of thread TID; only its times if TIMES_ONLY, without a change to the others.
 * Returns 0, or -errno if its times cannot be read. */
int thread_counts_read(pid_t tid, struct thread_counts *counts, bool times_only);

/* Set the counts that TEXT, a file of NAME ("schedstat", "stat", "status" or "io"), contains. */
void thread_counts_parse(struct thread_counts *counts, const char *name, const char *text);

#endif
