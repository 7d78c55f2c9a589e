/* State of a thread, and the cause of its wait. */
#include "engine/wait/wait.h"

#include <stdlib.h>

const char *const wait_state_names[WAIT_STATES] = {
	[WAIT_RUNNING] = "running",
	[WAIT_RUNNABLE] = "runnable",
	[WAIT_WAITING] = "waiting",
};

const char *const wait_cause_names[WAIT_CAUSES] = {
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

void wait_clear(struct wait *wait)
{
	free(wait->object);
	*wait = (struct wait){ 0 };
}

void wait_move(struct wait *to, struct wait *from)
{
	wait_clear(to);
	*to = *from;
	*from = (struct wait){ 0 };
}
