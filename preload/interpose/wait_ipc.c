/* Interposes System V messages and semaphores, which no handler's SA_RESTART restarts. */
#include "preload/interpose/restart.h"
#include "preload/interpose/real.h"
#include "preload/interpose/wait.h"

EXPORT ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
{
	return CALL_AGAIN(REAL(msgrcv)(id, message, size, type, flags), SYS_msgrcv, id,
			  (long)message, (long)size, type, flags);
}

EXPORT int msgsnd(int id, const void *message, size_t size, int flags)
{
	return CALL_AGAIN(REAL(msgsnd)(id, message, size, flags), SYS_msgsnd, id, (long)message,
			  (long)size, flags);
}

EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
	return CALL_AGAIN(REAL(semop)(id, operations, count), SYS_semtimedop, id, (long)operations,
			  (long)count, (long)NULL);
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
		      const struct timespec *timeout)
{
	uint64_t end = wait_start(timeout);
	struct timespec left;

	return CALL_AGAIN(REAL(semtimedop)(id, operations, count, timeout), SYS_semtimedop, id,
			  (long)operations, (long)count, (long)wait_left_in(end, timeout, &left));
}
