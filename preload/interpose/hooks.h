/* What the interposers tell the agent. Until it asks to be told, every call is forwarded as it
 * came. */
#ifndef PRELOAD_INTERPOSE_HOOKS_H
#define PRELOAD_INTERPOSE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

enum exiting {
	EXITING_NORMALLY, /* exit(3): told by the library's own destructor */
	EXITING_AT_ONCE,  /* _exit, _Exit, quick_exit, and becoming another program by exec */
	/* By the end of the calling thread, whose status is the process's if no other thread ends later: those of
	 * the agent must be gone when the hook returns. */
	EXITING_BY_RETURN,
	EXITING_BY_SIGNAL /* in a signal handler, every other signal blocked */
};

/* A sandbox, by the names of the first system calls of ours that it refuses, NULL where none: of those made in
 * the program's threads; of those and what a thread of the agent's makes beyond them; and of all of them, where
 * none may even fail. */
struct sandbox {
	const char *refused, *refused_in_agent, *fails_in_agent;
	bool all_threads; /* it is the agent's threads' as well */
};

/* No member may be NULL; errno need not be preserved. A hook may be called at any moment from
 * the interpose_set_hooks() that brings it until the process ends. */
struct interpose_hooks {
	/* In a thread that pthread_create or thrd_create made, before its first instruction of
	 * the program, which is ENTRY's; cancellation is off. All of its stack lies below
	 * STACK_HIGH, and what lies between STACK_LOW (STACK_HIGH when nothing is known) and
	 * there can be read as long as the thread lives. */
	void (*thread_started)(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry);
	/* In the same thread at its end, by return, pthread_exit or cancellation, and not when
	 * the whole process ends. In the last round of destructors of thread-specific data some
	 * of the program's may still run afterwards. */
	void (*thread_ended)(void);

	/* In the last thread of the program that is known, at its end, after thread_ended: the C library ends the process
	 * in it, with all that belongs to exit(3), unless it counts others: so none that we have from it may be there
	 * when this returns. The main thread's end is seen after thread_watch_main() alone. */
	void (*before_last_thread_ends)(void);

	/* The process is about to end: flush, for a bounded time. Called at most once for each
	 * exit_arm(), in the thread that ends the process. Async-signal-safe: no lock, no malloc;
	 * wake the agent thread and wait for it on a futex. Other threads run on, unless the hook holds
	 * them. */
	void (*process_exiting)(enum exiting how);

	/* The process is about to end by another thread too, or in a handler, before process_exiting has returned:
	 * wait for what that waits for, and no longer. Async-signal-safe. */
	void (*process_exiting_again)(void);

	/* The process, the first of its namespace, was asked to end by a signal: one that it has no handler for, and
	 * which the kernel keeps from it, or one whose handler may take its time. It may be killed soon. In a handler. */
	void (*termination_requested)(void);

	/* The calling thread has crashed: SIGNO came with CODE and ADDRESS, and interrupted CONTEXT, a
	 * ucontext_t. process_exiting follows. In a handler. */
	void (*crashed)(int signo, int code, uintptr_t address, const void *context);

	/* After process_exiting: the process did not end, as its exec failed. */
	void (*exec_failed)(void);

	/* In a child with memory of its own that was not made by fork(3), whose handlers tell of others; before
	 * its first instruction of the program. Async-signal-safe. */
	void (*process_cloned)(void);

	/* A system call comes that only a single-threaded process may make. True when threads
	 * of the agent were ended for it; they must be joined, and not come back before the call is done, of
	 * which the second tells. */
	bool (*before_namespace_change)(void);
	void (*after_namespace_change)(void);

	/* The calling thread's privileges become others than those of the agent's threads, which
	 * must be ended before this returns. */
	void (*before_credential_broadcast)(void);

	/* Whether the calling thread is root, by one of its users, and there are threads of the agent's, to which
	 * that matters. */
	bool (*is_root_beside_agent)(void);

	/* The program may have given up privileges: the calling thread alone by a system call, or all of its own by
	 * the C library; or what before_credential_broadcast told of is done. */
	void (*credentials_lost)(void);

	/* The program is about to enter a seccomp sandbox. True when nothing may be called there
	 * that the program does not call; the agent's threads, if this process is ARMED, must have
	 * ended then, and the end of the process will not be told. */
	bool (*before_sandbox)(bool armed, const struct sandbox *sandbox);

	/* The calling thread, of an armed process, is about to enter a domain of Landlock's, which threads are in that
	 * it makes later, and no others: the agent's must have ended when this returns. */
	void (*before_landlock)(void);

	/* In the same thread: it has ENTERED that domain, or could not. Also where the process is not armed, and it was
	 * not TOLD before. */
	void (*after_landlock)(bool told, bool entered);

	/* The program installs a handler of its own for a signal that takes samples (sample.h):
	 * SIGNO is the program's as soon as this returns, so send no more of them to any thread.
	 * Async-signal-safe. */
	void (*signal_claimed)(int signo);
};

/* For hooks_get() alone. */
extern const struct interpose_hooks *interpose_hooks;

/* The hooks in force; NULL before there are any: forward everything as it comes. */
static inline const struct interpose_hooks *hooks_get(void)
{
	return __atomic_load_n(&interpose_hooks, __ATOMIC_ACQUIRE);
}

/* Put HOOKS, which must stay valid until the process ends, in force. Any thread, at any time. */
void interpose_set_hooks(const struct interpose_hooks *hooks);

/* From now on the end of this process, and not of a child of it, is told to process_exiting. */
void exit_arm(void);

/* Tell it no more. */
void exit_disarm(void);

/* See before_last_thread_ends(), also of a main thread that ends by pthread_exit(3). In that thread. */
void thread_watch_main(void);

/* Threads that the program has made by the C library and that are there, and the main thread. Not in a forked child,
 * where those of the parent's still count. Any thread. */
uint32_t thread_alive_count(void);

/* True when exit_arm() was called in this very process, and its end is not told yet.
 * Async-signal-safe. */
bool exit_is_armed(void);

/* Tell process_exiting, or process_exiting_again while that goes on, unless this is a child. The library's destructor
 * calls it for exit(3). Async-signal-safe. */
void exit_notify(enum exiting how);

#endif
