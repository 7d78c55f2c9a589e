/* Reads and writes that the C library makes for a stream (stdio) on a socket with a timeout: nothing
 * of ours stands in front of them, so the sample's handler itself sets them back. That needs the
 * call's number, which x86-64 does not keep, and which is known where the C library's code for
 * read(2) and write(2) makes the call, up to glibc 2.40; aarch64 does not keep the first argument.
 * When the call began is not known either: the timeout is measured from the first sample. */
#ifndef PRELOAD_INTERPOSE_STREAM_H
#define PRELOAD_INTERPOSE_STREAM_H

#include <stdbool.h>
#include <ucontext.h>

/* Learn where that code is. Not in a signal handler. */
void stream_find_code(void);

/* CONTEXT stands behind a system call that a sample alone has ended with EINTR: if it is such a call,
 * that is made again, or ends with EAGAIN when its time is over. Async-signal-safe. */
bool stream_restart_call(ucontext_t *context);

#endif
