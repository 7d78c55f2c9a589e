/* States of threads and causes of waits, and their names in recordings. For the writer and the reader. */
#ifndef ENGINE_JFR_WAIT_NAMES_H
#define ENGINE_JFR_WAIT_NAMES_H

enum wait_state {
	WAIT_STATE_UNKNOWN,
	WAIT_RUNNING,  /* on a processor */
	WAIT_RUNNABLE, /* in the run queue */
	WAIT_WAITING,
	WAIT_STATES,
};

enum wait_cause {
	WAIT_CAUSE_UNKNOWN, /* also of a thread that does not wait */
	WAIT_LOCK,          /* also of a futex whose use is not known */
	WAIT_CONDITION,
	WAIT_SEMAPHORE,
	WAIT_FILE,
	WAIT_PAGE_FAULT,
	WAIT_CONNECT,
	WAIT_ACCEPT,
	WAIT_SOCKET_READ,
	WAIT_SOCKET_WRITE,
	WAIT_PIPE_READ,
	WAIT_PIPE_WRITE,
	WAIT_IDLE, /* an event loop without events, or a thread that waits for a signal */
	WAIT_TIMER,
	WAIT_SLEEP,
	WAIT_CHILD, /* a child process, or a thread to join */
	WAIT_GIL,
	WAIT_SYSCALL, /* another system call */
	WAIT_CAUSES,
};

/* "unknown", "running", ...; "unknown", "lock", ... */
extern const char *const wait_state_names[WAIT_STATES];
extern const char *const wait_cause_names[WAIT_CAUSES];

#endif
