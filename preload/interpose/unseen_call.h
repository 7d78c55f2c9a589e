/* System calls that no interposer sees: the program makes them by an instruction of its own, or by a function that it found
 * in the C library itself (dlsym(3) with that library's handle); or the C library makes them for another function.
 *
 * If only a sample ended such a call, the sampling signal's handler continues it. It sets the thread back to the call, whose
 * number the code shows (arch_call_number()). If the call has a relative time limit, the thread makes it in our code instead,
 * with the remaining time, and then returns to its own. The start of the call is not known: the limit is measured from the
 * first sample, unless the kernel has written the remaining time. The timeout of a socket is measured at each sample.
 *
 * Such calls end with EINTR if their number is not certain, and always on processors whose result replaces an argument
 * (aarch64). Transfers that a sample cuts short are not continued. All functions are for handlers, in a thread whose
 * thread-local data is its own. Async-signal-safe. */
#ifndef PRELOAD_INTERPOSE_UNSEEN_CALL_H
#define PRELOAD_INTERPOSE_UNSEEN_CALL_H

#include <stdbool.h>
#include <ucontext.h>

/* At the beginning of the sampling signal's handler. If the thread is in our code for such a call, change CONTEXT to the same
 * point in the program's code. */
void unseen_call_leave(ucontext_t *context);

/* CONTEXT is after a call that only a sample has ended. If it is such a call, set CONTEXT back to it and return true. */
bool unseen_call_continue(ucontext_t *context);

/* At the end of the handler. If CONTEXT is at a call with a time limit that is continued, change it to our code. */
void unseen_call_resume(ucontext_t *context);

/* At the beginning of a handler of the program: the call ends. Change CONTEXT as unseen_call_leave() does. */
void unseen_call_end(ucontext_t *context);

#endif
