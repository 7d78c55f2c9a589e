/* What async-profiler calls instead of the C library's functions, so that the program does not notice it: its
 * descriptors are not among the program's (asyncprof/fd_calls.h), nor its memory in the program's heap
 * (asyncprof/memory_calls.h); the limit of the descriptors' number stays the program's, and standard output too; that exit
 * does not wait for a sleeper, that the environment may be changed meanwhile, and that a forked child waits for no
 * lock and writes nothing into its parent's recording. */
#ifndef ASYNCPROF_REPLACED_CALLS_H
#define ASYNCPROF_REPLACED_CALLS_H

/* Of the library that INSIDE points into, after dlopen and before its first call.
 * Returns 0 or -errno. */
int replaced_calls_install(const void *inside);

/* In a forked child. */
void replaced_calls_reset_in_child(void);

#endif
