/* Table of the system calls that may wait. */
#ifndef ENGINE_WAIT_WAIT_CALLS_H
#define ENGINE_WAIT_WAIT_CALLS_H

#include "engine/wait/wait.h"

/* How the arguments of a call decide its cause and its object. */
enum wait_call_kind {
	WAIT_CALL_PLAIN,   /* the row's cause, without an object */
	WAIT_CALL_OBJECT,  /* the row's cause; the object is descriptor ARGUMENT */
	WAIT_CALL_READ,    /* by the kind of descriptor ARGUMENT */
	WAIT_CALL_WRITE,   /* the same */
	WAIT_CALL_PATH,    /* the row's cause; the object is the path at ARGUMENT */
	WAIT_CALL_CONNECT, /* descriptor, address and its length */
	WAIT_CALL_POLL,    /* ARGUMENT: address of the descriptors; their number follows */
	WAIT_CALL_SELECT,  /* ARGUMENT: number of the descriptors */
	WAIT_CALL_FUTEX,
	WAIT_CALL_FCNTL,
	WAIT_CALL_WAIT4,
	WAIT_CALL_WAITID,
};

/* How an event loop's call has its timeout. */
enum wait_timeout_kind {
	WAIT_TIMEOUT_NONE,
	WAIT_TIMEOUT_MS,      /* negative: none */
	WAIT_TIMEOUT_POINTER, /* NULL: none */
	WAIT_TIMEOUT_RING,    /* of io_uring_enter(2) */
};

struct wait_call {
	long number;
	const char *name;
	enum wait_call_kind kind;
	enum wait_cause cause;
	unsigned argument;
	enum wait_timeout_kind timeout_kind;
	unsigned timeout; /* the argument that has it */
};

/* The row of system call NUMBER; NULL if it is not in the table. */
const struct wait_call *wait_call_find(long number);

/* The cause of a wait in the kernel's function NAME, from /proc/PID/wchan, which does not identify
 * the system call. WAIT_SYSCALL for other functions. */
enum wait_cause wait_cause_of_function(const char *name);

#endif
