/* Calls that the kernel refuses, after which hooks are called: each fails with its own error. */
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/check.h"

int capset(void *header, const void *data);

/* Neither value is one of their errors. */
#define NONE 2UL

int main(void)
{
	struct __user_cap_data_struct data[2] = { 0 };
	struct __user_cap_header_struct header = { 0 };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, NONE, 0, 0, 0) == -1 && errno == EINVAL);
	CHECK(prctl(PR_SET_KEEPCAPS, NONE, 0, 0, 0) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, NONE, 0, 0, 0) == -1 && errno == EINVAL);
	CHECK(capset(&header, data) == -1 && errno == EINVAL);
	header.version = 0; /* the kernel has written its own there */
	CHECK(syscall(SYS_capset, &header, data) == -1 && errno == EINVAL);
	/* Hooks are called before the next two. */
	CHECK(!prctl(PR_SET_KEEPCAPS, 1UL, 0UL, 0UL, 0UL));
	CHECK(setuid((uid_t)-1) == -1 && errno == EINVAL);
	CHECK(seteuid((uid_t)-1) == -1 && errno == EINVAL);
	CHECK(unshare(-1) == -1 && errno == EINVAL);
	CHECK(setns(-1, CLONE_NEWNS) == -1 && errno == EBADF);
	return 0;
}
