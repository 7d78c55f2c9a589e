/* Functions that the kernel brings into every process, so that a clock is read without a system call. */
#ifndef CORE_VDSO_H
#define CORE_VDSO_H

/* The function NAME, or NULL where there is none. Async-signal-safe. */
void *vdso_function(const char *name);

#endif
