/* Handler of the sampling signal in a program without interposers. */
#ifndef ATTACH_HANDLER_H
#define ATTACH_HANDLER_H

#include <signal.h>
#include <stdbool.h>

/* For sampler_install_by(): install HANDLER for SIGNO. All signals are blocked while it runs, and it has thread-local
 * variables of its own (attach/thread_area.h). Returns 0 or -errno. Agent thread. */
int attach_handler_install(int signo, void (*handler)(int, siginfo_t *, void *), int flags);

/* From now on continue system calls that a sample ends with EINTR (attach/calls.h). The Go runtime expects EINTR from all
 * calls, and its signal stacks are small. */
void attach_handler_continue_calls(void);

/* Restore the disposition, after no signal is sent any more. Returns 0; -EBUSY when the program has installed another
 * handler; or another -errno. Agent thread. */
int attach_handler_remove(int signo);

/* A signal that no timer of the agent has sent: it has the effect that it has without a handler. */
void attach_handler_forward(int signo, siginfo_t *info, void *context);

/* True when HANDLER counts as the default action of SIGNO. Always false. */
bool attach_handler_is_free(int signo, const void *handler);

#endif
