/* Makes a user namespace and a mount namespace, as a sandbox does, or joins one. With a second
 * argument by syscall(2). Status 0; 1 if the process is not single-threaded, 77 if the machine does
 * not allow it. */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/check.h"

static bool by_number;

static long leave(int flags)
{
	return by_number ? syscall(SYS_unshare, flags) : unshare(flags);
}

static long join(int fd, int type)
{
	return by_number ? syscall(SYS_setns, fd, type) : setns(fd, type);
}

int main(int argc, char **argv)
{
	int fd;

	by_number = argc > 2;
	if (argc > 1 && !strcmp(argv[1], "setns")) {
		fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
		if (!join(fd, CLONE_NEWNS))
			return 0;
	} else if (!leave(CLONE_NEWUSER)) {
		return leave(CLONE_NEWNS) ? 1 : 0;
	}
	printf("errno %d\n", errno);
	return errno == EPERM || errno == ENOSPC || errno == ENOSYS ? 77 : 1;
}
