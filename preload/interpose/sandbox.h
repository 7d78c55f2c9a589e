/* Seccomp, where a thread that calls what it may not is killed, and the process with it. */
#ifndef PRELOAD_INTERPOSE_SANDBOX_H
#define PRELOAD_INTERPOSE_SANDBOX_H

#include <stdbool.h>

/* The program is about to enter a sandbox: with the FILTER that it hands to the kernel (a struct sock_fprog), or
 * none that would let anything of ours; for ALL_THREADS or the calling one. A filter that cannot be read is no
 * filter: so programs ask whether there is seccomp. */
void sandbox_begin(bool has_filter, const void *filter, bool all_threads);

#endif
