/* Replacements for functions of the C library that async-profiler calls. They hide async-profiler from the program:
 *
 * * Its descriptors are not in the program's table (asyncprof/fd_calls.h).
 * * Its memory is not in the program's heap (asyncprof/memory_calls.h).
 * * The program keeps its standard output, and its limit of descriptors unless perf events need more.
 * * exit(3), which joins async-profiler's thread, does not wait until that thread wakes by itself.
 * * async-profiler reads a copy of the environment, so the program may change its own at any time.
 * * A forked child waits for no lock, and writes nothing into its parent's recording. */
#ifndef ASYNCPROF_REPLACED_CALLS_H
#define ASYNCPROF_REPLACED_CALLS_H

/* Redirect the imports of the library that INSIDE, an address in it, belongs to. Call it after the dlopen(3) of the
 * library and before the first call into the library. Returns 0, or -errno; then some imports may be redirected already. */
int replaced_calls_install(const void *inside);

/* Reset the state in a forked child. */
void replaced_calls_reset_in_child(void);

#endif
