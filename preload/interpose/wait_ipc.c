/* Interposes System V messages and semaphores, which the kernel does not restart, even with SA_RESTART. */
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/wait.h"

EXPORT ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
{
	return RESTART_SAME(REAL(msgrcv)(id, message, size, type, flags));
}

EXPORT int msgsnd(int id, const void *message, size_t size, int flags)
{
	return RESTART_SAME(REAL(msgsnd)(id, message, size, flags));
}

EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
	return RESTART_SAME(REAL(semop)(id, operations, count));
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
		      const struct timespec *timeout)
{
	int64_t start = wait_start(timeout);
	struct timespec left;

	return RESTART(REAL(semtimedop)(id, operations, count, timeout),
		       REAL(semtimedop)(id, operations, count, wait_left(start, timeout, &left)));
}
