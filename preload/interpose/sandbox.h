/* Ends profiling before the program enters seccomp or Syscall User Dispatch. (Landlock: privilege_calls.c.)
 *
 * Seccomp: a forbidden system call ends the process. Syscall User Dispatch: the kernel returns a thread's system
 * calls to it, except calls from a range of code. */
#ifndef PRELOAD_INTERPOSE_SANDBOX_H
#define PRELOAD_INTERPOSE_SANDBOX_H

#include <stdbool.h>
#include <sys/prctl.h>

/* The program is about to enter a sandbox: with FILTER, a struct sock_fprog, or in strict mode, without a filter.
 * Profiling of the process ends. A filter that cannot be read is ignored: programs use one to ask whether seccomp
 * exists. */
void sandbox_begin(bool has_filter, const void *filter);

/* True when sandbox_begin() has ended profiling in this process or an ancestor: then handlers and
 * interposers make no system calls of their own. Async-signal-safe. */
bool sandbox_is_entered(void);

/* Older headers lack it. */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF          0
#endif

/* The calling thread is about to enable Syscall User Dispatch. The range is mostly the C library's code. So from now
 * on nothing is profiled in this process, and no hook is called. */
void dispatch_begin(void);

/* True when dispatch_begin() was called in this process or an ancestor: then only the C library's function (RTLD_NEXT)
 * may make system calls. */
bool dispatch_is_on(void);

#endif
