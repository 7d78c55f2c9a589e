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

/* Classes of causes: a colour of the pages is that of a class (profile/page/states.js). */
enum wait_class {
	WAIT_CLASS_LOCK,
	WAIT_CLASS_IO,
	WAIT_CLASS_CONDITION, /* mostly threads without work */
	WAIT_CLASS_IDLE,
	WAIT_CLASS_OTHER,
	WAIT_CLASSES,
};

/* The table of all causes, in the order of lists of them. A row is the constant, the name, the class, the end of the
 * sentence "The thread waits for ..." in documents, and what the owner of a lock did meanwhile, alone and before the
 * object of its wait. scripts/docs reads it too. */
/* clang-format off */
#define WAIT_CAUSE_TABLE(CAUSE) \
	CAUSE(NO_CAUSE, "unknown", OTHER, "nothing that is known", "waited", " for") \
	CAUSE(LOCK, "lock", LOCK, "a mutex or a read-write lock; a lock of a file", "waited for a lock", ",") \
	CAUSE(CONDITION, "condition", CONDITION, "a condition variable or a barrier", "waited for a condition", ",") \
	CAUSE(SEMAPHORE, "semaphore", CONDITION, "a semaphore", "waited for a semaphore", ",") \
	CAUSE(GIL, "gil", LOCK, "the interpreter lock of Python", "waited for the interpreter lock", ",") \
	CAUSE(FILE, "file", IO, "a file", "waited for a file", ",") \
	CAUSE(PAGE_FAULT, "page-fault", IO, "a page that must be read from a file", "waited for a page", " of") \
	CAUSE(CONNECT, "connect", IO, "a connection to a peer", "connected", " to") \
	CAUSE(ACCEPT, "accept", IDLE, "a connection from a peer", "accepted connections", " at") \
	CAUSE(SOCKET_READ, "socket-read", IO, "data from a peer", "read from a socket", ",") \
	CAUSE(SOCKET_WRITE, "socket-write", IO, "a peer that must receive data first", "wrote to a socket", ",") \
	CAUSE(PIPE_READ, "pipe-read", IO, "data from a pipe", "read from a pipe", ",") \
	CAUSE(PIPE_WRITE, "pipe-write", IO, "room in a pipe", "wrote to a pipe", ",") \
	CAUSE(IDLE, "idle", IDLE, "events of an event loop", "waited for events", " at") \
	CAUSE(TIMER, "timer", IDLE, "the next timer of an event loop", "waited for a timer", ",") \
	CAUSE(SLEEP, "sleep", IDLE, "the end of a sleep", "slept", ",") \
	CAUSE(CHILD, "child", OTHER, "a child process, or the end of a thread", "waited for a child process", ",") \
	CAUSE(SYSCALL, "syscall", OTHER, "another system call, which is named", "waited in a system call", ",")
/* clang-format on */

enum wait_cause {
#define CAUSE(constant, ...) WAIT_##constant,
	WAIT_CAUSE_TABLE(CAUSE)
#undef CAUSE
		WAIT_CAUSES,
};

/* In the text of a wait whose owner counts only if the stack has a function with a name that begins so: its key. */
#define WAIT_OWNER_IN "owner_in"

/* "unknown", "running", ...; "lock", "io", ... */
extern const char *const jfr_wait_states[WAIT_STATES];
extern const char *const jfr_wait_classes[WAIT_CLASSES];

/* The columns of the table. */
extern const char *const jfr_wait_causes[WAIT_CAUSES];
extern const enum wait_class jfr_wait_class_of[WAIT_CAUSES];

#endif
