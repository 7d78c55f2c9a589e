/* Makes a user namespace and a mount namespace, as a sandbox does, and joins one. Status 0; 1 if
 * the process is not single-threaded, 77 if the machine does not allow it. */
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "test/programs/check.h"

int main(int argc, char **argv)
{
	int fd;

	if (argc > 1 && !strcmp(argv[1], "setns")) {
		fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
		if (!setns(fd, CLONE_NEWNS))
			return 0;
	} else if (!unshare(CLONE_NEWUSER)) {
		return unshare(CLONE_NEWNS) ? 1 : 0;
	}
	printf("errno %d\n", errno);
	return errno == EPERM || errno == ENOSPC || errno == ENOSYS ? 77 : 1;
}
