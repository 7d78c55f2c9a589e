/* Functions of the vDSO, which the kernel maps into every process. They read clocks without a system call. */
#ifndef CORE_VDSO_H
#define CORE_VDSO_H

/* Return the function NAME, or NULL. Async-signal-safe. errno may change when the kernel has no vDSO. So an own
 * thread calls it only after a thread of the program has. */
void *vdso_function(const char *name);

#endif
