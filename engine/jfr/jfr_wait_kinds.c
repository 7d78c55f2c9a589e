/* States of sampled threads and causes of waits. */
#include "engine/jfr/jfr_wait_kinds.h"

const char *const jfr_wait_states[WAIT_STATES] = {
	[WAIT_UNKNOWN] = "unknown",
	[WAIT_RUNNING] = "running",
	[WAIT_RUNNABLE] = "runnable",
	[WAIT_WAITING] = "waiting",
};

const char *const jfr_wait_causes[WAIT_CAUSES] = {
	[WAIT_NO_CAUSE] = "unknown",
	[WAIT_LOCK] = "lock",
	[WAIT_CONDITION] = "condition",
	[WAIT_SEMAPHORE] = "semaphore",
	[WAIT_FILE] = "file",
	[WAIT_PAGE_FAULT] = "page-fault",
	[WAIT_CONNECT] = "connect",
	[WAIT_ACCEPT] = "accept",
	[WAIT_SOCKET_READ] = "socket-read",
	[WAIT_SOCKET_WRITE] = "socket-write",
	[WAIT_PIPE_READ] = "pipe-read",
	[WAIT_PIPE_WRITE] = "pipe-write",
	[WAIT_IDLE] = "idle",
	[WAIT_TIMER] = "timer",
	[WAIT_SLEEP] = "sleep",
	[WAIT_CHILD] = "child",
	[WAIT_GIL] = "gil",
	[WAIT_SYSCALL] = "syscall",
};
