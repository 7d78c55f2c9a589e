/* Hooks by which the interposers notify the agent. Without hooks every call is forwarded unchanged. */
#ifndef PRELOAD_INTERPOSE_HOOKS_H
#define PRELOAD_INTERPOSE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum exiting {
	EXITING_NORMALLY, /* exit(3); the library's destructor notifies */
	EXITING_AT_ONCE,  /* _exit, _Exit, quick_exit and exec */
	/* The calling thread ends, and the process ends with it if no other thread ends later. The agent's threads
	 * must have ended when the hook returns. */
	EXITING_BY_RETURN,
	EXITING_BY_SIGNAL /* in a signal handler, all other signals blocked */
};

/* No member may be NULL. Hooks need not preserve errno. They may be called from interpose_set_hooks() until the
 * process ends. */
struct interpose_hooks {
	/* In thread TID of pthread_create(3) or thrd_create(3), before its first instruction of the program, which is
	 * at ENTRY. Cancellation is disabled. All of its stack is below STACK_HIGH. The range from STACK_LOW
	 * (STACK_HIGH when unknown) to STACK_HIGH is readable as long as the thread lives. */
	void (*thread_started)(pid_t tid, uintptr_t stack_low, uintptr_t stack_high,
			       uintptr_t entry);
	/* In the same thread at its end, by return, pthread_exit(3) or cancellation, but not when the process ends.
	 * It is the second round of destructors of thread-specific data: all have run once, and some of the
	 * program's may run again afterwards. */
	void (*thread_ended)(void);

	/* In the last known thread of the program, at its end, after thread_ended: the C library ends the process in
	 * it, as exit(3) does, unless it counts other threads. So no thread of the agent that it counts may exist
	 * when this returns. The end of the main thread is only seen after thread_watch_main(). */
	void (*before_last_thread_ends)(void);

	/* The process is about to end: flush, for a bounded time. Called at most once for each exit_arm(), in the
	 * thread that ends the process. Async-signal-safe: no lock, no malloc; wake the agent thread and wait for it
	 * on a futex. Other threads continue, unless the hook stops them. */
	void (*process_exiting)(enum exiting how);

	/* Another thread or a handler is about to end the process too, before process_exiting has returned: wait for
	 * the same, and no longer. Async-signal-safe. */
	void (*process_exiting_again)(void);

	/* A signal asked the process, the first of its namespace, to end. Either it has no handler and the kernel
	 * ignores the signal, or its handler may take long. The process may be killed soon. In a handler. */
	void (*termination_requested)(void);

	/* The calling thread has crashed: SIGNO with CODE and ADDRESS interrupted CONTEXT, a ucontext_t.
	 * process_exiting follows. In a handler. */
	void (*crashed)(int signo, int code, uintptr_t address, const void *context);

	/* After process_exiting: the exec failed, and the process continues. */
	void (*exec_failed)(void);

	/* In a child with its own memory that was not created by fork(3), which has its own handlers. Before the
	 * child's first instruction of the program. Async-signal-safe. */
	void (*process_cloned)(void);

	/* The calling thread is about to make a system call that only a single-threaded process may make. No thread
	 * of the agent may exist when this returns, until the second hook. Returns true when a thread was ended: the
	 * kernel may still list it for a moment. */
	bool (*before_namespace_change)(void);
	void (*after_namespace_change)(void);

	/* The C library is about to change credentials in each of its threads, and aborts if the results differ. This
	 * hook is called when the threads' credentials differ. If this returns true, the second hook follows after the call, and until
	 * then the C library may know no thread of the agent. */
	bool (*before_credential_broadcast)(void);
	void (*after_credential_broadcast)(void);

	/* The process may have lost credentials: return when the agent's threads have dropped them too, or after a
	 * bounded time. */
	void (*credentials_lost)(void);

	/* The program is about to enter a seccomp sandbox, where only the program's own system calls may be made.
	 * When this returns the agent's threads, if this process is ARMED, must have ended. The end of the process
	 * is not notified. */
	void (*before_sandbox)(bool armed);

	/* The calling thread is about to enable Syscall User Dispatch for itself: the kernel then returns its system calls
	 * to it, except those from a code range. When this returns the agent's threads, if this process is ARMED, must have ended. No hook is
	 * called any more. */
	void (*before_syscall_dispatch)(bool armed);

	/* A thread of the armed process is about to disable the timestamp counter for itself: after this only
	 * clock_ticks() may read the counter there. */
	void (*before_tsc_is_disabled)(void);

	/* The calling thread, of an armed process, is about to enter a Landlock domain. Its later threads will be in
	 * the domain, existing ones will not. The agent's threads must have ended when this returns. */
	void (*before_landlock)(void);

	/* In the same thread: it has ENTERED the domain, or the call failed. Also called when the process is not
	 * armed; then before_landlock was not called (WAS_NOTIFIED is false). */
	void (*after_landlock)(bool was_notified, bool entered);

	/* The program installs its own handler for a sampling signal (sample.h). When this returns SIGNO is the
	 * program's: send it to no thread any more. Async-signal-safe. */
	void (*signal_claimed)(int signo);
};

/* Only for hooks_get(). */
extern const struct interpose_hooks *interpose_hooks;

/* Return the current hooks; NULL before there are any: forward every call unchanged. */
static inline const struct interpose_hooks *hooks_get(void)
{
	return __atomic_load_n(&interpose_hooks, __ATOMIC_ACQUIRE);
}

/* Set the hooks. HOOKS must stay valid until the process ends. Any thread, at any time. */
void interpose_set_hooks(const struct interpose_hooks *hooks);

/* From now on the end of this process, but not of a child, is notified by process_exiting. */
void exit_arm(void);

/* Stop that. */
void exit_disarm(void);

/* Watch the calling thread, the main thread: its end by pthread_exit(3) may be the last one, see
 * before_last_thread_ends. */
void thread_watch_main(void);

/* Return the number of the program's threads: the main thread, and threads that it created by the C library. Not in a
 * forked child, where the parent's threads still count. Any thread. */
uint32_t thread_alive_count(void);

/* True when exit_arm() was called in this process, and its end was not notified yet. Async-signal-safe. */
bool exit_is_armed(void);

/* True in a child of vfork(2): it has its own signals, but this memory is its parent's. False if the process is not
 * armed. Async-signal-safe. */
bool exit_is_vfork_child(void);

/* Call process_exiting, or process_exiting_again while that runs; does nothing in a child. The library's destructor
 * calls it for exit(3). Async-signal-safe. */
void exit_notify(enum exiting how);

#endif
