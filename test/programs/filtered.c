/* Executes its arguments under a filter that kills a process for calls that few services need, as
 * systemd's SystemCallFilter=@system-service does; or, built with a list of calls, ALLOWED, for all
 * other calls. */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/filter.h"

static struct sock_filter filter[] = {
	LOAD_NUMBER,
#ifdef ALLOWED
#include ALLOWED
	OTHERWISE(SECCOMP_RET_KILL_PROCESS),
#else
	ON_CALL(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS),
	ON_CALL(SYS_pidfd_getfd, SECCOMP_RET_KILL_PROCESS),
	ON_CALL(SYS_bpf, SECCOMP_RET_KILL_PROCESS),
	ON_CALL(SYS_userfaultfd, SECCOMP_RET_KILL_PROCESS),
	OTHERWISE(SECCOMP_RET_ALLOW),
#endif
};
static struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	execvp(argv[1], argv + 1);
	return 127;
}
