/* State of a thread, and the cause of its wait. */
#ifndef ENGINE_WAIT_WAIT_H
#define ENGINE_WAIT_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum wait_state {
	WAIT_UNKNOWN,
	WAIT_RUNNING,  /* on a processor */
	WAIT_RUNNABLE, /* in the run queue */
	WAIT_WAITING,
	WAIT_STATES,
};

/* Names in recordings: wait_cause_names. */
enum wait_cause {
	WAIT_NO_CAUSE,
	WAIT_LOCK, /* also of a futex whose use is not known */
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

/* A zeroed wait is unknown. */
struct wait {
	uint8_t state;      /* enum wait_state */
	uint8_t cause;      /* enum wait_cause; WAIT_NO_CAUSE unless waiting */
	bool is_futex;      /* the stack decides the cause: wait_set_cause_by_stack() */
	long number;        /* of the system call; -1: none, or not known */
	uintptr_t lock;     /* address of the futex; 0: none */
	pid_t owner;        /* of the lock; 0: unknown */
	uint8_t owner_kind; /* enum wait_owner_kind: the words in which the owner was found */
	char *object;       /* malloc'd; NULL: none */
};

/* Which data of the process a wait may contain. */
enum wait_detail {
	WAIT_ALL,   /* with paths of files and addresses of peers */
	WAIT_KINDS, /* without them */
	WAIT_OFF,   /* nothing is read */
};

extern const char *const wait_state_names[WAIT_STATES];
extern const char *const wait_cause_names[WAIT_CAUSES];

/* Free what WAIT owns, and make it unknown. */
void wait_clear(struct wait *wait);

/* Move FROM to TO, which is cleared first; FROM is then unknown. */
void wait_move(struct wait *to, struct wait *from);

#endif
