/* Executes its arguments where a filter kills a process for what few services need, as systemd's
 * SystemCallFilter=@system-service does. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/check.h"

#define KILL(number)                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL(SYS_perf_event_open),
	KILL(SYS_pidfd_getfd),
	KILL(SYS_bpf),
	KILL(SYS_userfaultfd),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
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
