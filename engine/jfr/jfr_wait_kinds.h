/* States of sampled threads and causes of waits, with their names in recordings
 * (asprof.types.Wait). */
#ifndef ENGINE_JFR_JFR_WAIT_KINDS_H
#define ENGINE_JFR_JFR_WAIT_KINDS_H

enum wait_state {
	WAIT_UNKNOWN,
	WAIT_RUNNING,  /* on a processor */
	WAIT_RUNNABLE, /* in the run queue */
	WAIT_WAITING,
	WAIT_STATES,
};

enum wait_cause {
	WAIT_NO_CAUSE, /* unknown, or the thread does not wait */
	WAIT_LOCK,
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
	WAIT_IDLE, /* an event loop without events */
	WAIT_TIMER,
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_GIL,
	WAIT_SYSCALL, /* another system call */
	WAIT_CAUSES,
};

/* "unknown", "running", ...; "unknown", "lock", .... */
extern const char *const jfr_wait_states[WAIT_STATES];
extern const char *const jfr_wait_causes[WAIT_CAUSES];

#endif
