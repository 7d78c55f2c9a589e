/* Replacements for functions of the C library that async-profiler calls. They hide async-profiler from the program:
 *
 * * Its descriptors are not in the program's table (asyncprof/fd_calls.h).
 * * Its memory is not in the program's heap (asyncprof/memory_calls.h).
 * * The program keeps its limit of descriptors and its standard output.
 * * exit(3) does not wait for async-profiler's sleeping threads.
 * * The program may change its environment at any time.
 * * A forked child waits for no lock, and writes nothing into its parent's recording. */
#ifndef ASYNCPROF_REPLACED_CALLS_H
#define ASYNCPROF_REPLACED_CALLS_H

/* Install the replacements in the library that INSIDE points into, after dlopen(3) and before its first call. Returns 0
 * or -errno. */
int replaced_calls_install(const void *inside);

/* Reset the state in a forked child. */
void replaced_calls_reset_in_child(void);

#endif
