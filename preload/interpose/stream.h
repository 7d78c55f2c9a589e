/* Reads and writes by the C library for a stream (stdio) on a socket with a timeout.
 *
 * They have no interposer, so the sampling signal handler itself restarts them. That needs the number of the call,
 * which x86-64 does not keep. It is known in the C library's code for read(2) and write(2), up to glibc 2.40.
 * aarch64 does not keep the first argument. The start of the call is not known either: the timeout is measured from
 * the first sample. */
#ifndef PRELOAD_INTERPOSE_STREAM_H
#define PRELOAD_INTERPOSE_STREAM_H

#include <stdbool.h>
#include <ucontext.h>

/* Find that code. Not in a signal handler. */
void stream_find_code(void);

/* CONTEXT is after a system call that only a sample ended with EINTR. If it is such a call, it is restarted, or ends
 * with EAGAIN after its timeout. Returns whether it was one. Async-signal-safe. */
bool stream_restart_call(ucontext_t *context);

#endif
