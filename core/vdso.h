/* Functions that the kernel brings into every process, so that a clock is read without a system call. */
#ifndef CORE_VDSO_H
#define CORE_VDSO_H

/* The function NAME, or NULL where there is none. Async-signal-safe; of the agent's own threads only once a
 * thread of the program has asked for one (errno is touched where the kernel has brought no functions). */
void *vdso_function(const char *name);

#endif
