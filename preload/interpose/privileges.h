/* Privileges that a thread gives up by asking the kernel itself, past the C library. */
#ifndef PRELOAD_INTERPOSE_PRIVILEGES_H
#define PRELOAD_INTERPOSE_PRIVILEGES_H

/* For syscall(2), before call NUMBER with FIRST and SECOND, and after it: what the functions of the
 * C library that are interposed do. */
void privileges_before_call(long number, long first, long second);
void privileges_after_call(long number, long first);

#endif
