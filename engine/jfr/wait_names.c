/* Names of states and causes. */
#include "engine/jfr/wait_names.h"

const char *const wait_state_names[WAIT_STATES] = {
	[WAIT_STATE_UNKNOWN] = "unknown",
	[WAIT_RUNNING] = "running",
	[WAIT_RUNNABLE] = "runnable",
	[WAIT_WAITING] = "waiting",
};

const char *const wait_cause_names[WAIT_CAUSES] = {
	[WAIT_CAUSE_UNKNOWN] = "unknown",
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
