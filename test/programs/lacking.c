/* Executes COMMAND under a kernel without CALLS, a comma-separated list: names; 3.10 or 4.14 for
 * all calls that are newer than that kernel; or +NAME for a call that exists but is not permitted.
 * usage: lacking CALLS COMMAND... */
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/filter.h"

#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define INVALID (SECCOMP_RET_ERRNO | EINVAL)

/* The first call that does not exist. */
#ifdef __x86_64__
#define AFTER_3_10 314 /* sched_setattr */
#define AFTER_4_14 333 /* io_pgetevents */
#else
#define AFTER_3_10 274
#define AFTER_4_14 292
#endif

/* Some systems' headers are older than these. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define CALL(name)                \
	{                         \
#name, SYS_##name \
	}

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	CALL(clone3),
	CALL(close_range),
	CALL(copy_file_range),
	CALL(epoll_pwait2),
	CALL(eventfd2),
	CALL(execveat),
	CALL(faccessat2),
	CALL(fallocate),
	CALL(getrandom),
	CALL(membarrier),
	CALL(memfd_create),
	CALL(openat2),
	CALL(perf_event_open),
	CALL(pidfd_getfd),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(prlimit64),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(renameat2),
	CALL(rseq),
	CALL(sched_getattr),
	CALL(sched_setattr),
	CALL(seccomp),
	CALL(sendmmsg),
	CALL(statx),
	CALL(timer_create),
};

static struct sock_filter filter[256];
static unsigned short length;

static void add(struct sock_filter part)
{
	CHECK(length < sizeof(filter) / sizeof(filter[0]));
	filter[length++] = part;
}

static void answer(unsigned number, unsigned action)
{
	struct sock_filter parts[] = { ON_CALL(number, action) };

	add(parts[0]);
	add(parts[1]);
}

/* With VALUE as argument INDEX. */
static void answer_with(unsigned number, unsigned index, unsigned value)
{
	unsigned at = (unsigned)offsetof(struct seccomp_data, args) + 8 * index;

	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, INVALID));
	add((struct sock_filter)LOAD_NUMBER);
}

/* As Linux before 3.11, which takes it for a directory that is opened for writing. */
static void refuse_files_without_a_name(void)
{
	unsigned flags = (unsigned)offsetof(struct seccomp_data, args) + 8 * 2;

	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4));
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0,
					 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EISDIR));
	add((struct sock_filter)LOAD_NUMBER);
}

static void answer_from(unsigned number)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, number, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UNKNOWN));
}

/* Older kernels have these calls, but not with these arguments. */
static void without(const char *name)
{
	unsigned action = UNKNOWN;

	if (!strcmp(name, "4.14")) {
		answer_from(AFTER_4_14);
		return;
	}
	if (!strcmp(name, "3.10")) {
		answer_from(AFTER_3_10);
		answer_with(SYS_madvise, 2, 18 /* MADV_WIPEONFORK */);
		answer_with(SYS_prctl, 0, PR_CAP_AMBIENT);
		refuse_files_without_a_name();
		return;
	}
	if (*name == '+') {
		action = SECCOMP_RET_ERRNO | EPERM;
		name++;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name)) {
			answer(calls[i].number, action);
			return;
		}
	fprintf(stderr, "lacking: what is %s?\n", name);
	_exit(2);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = filter };

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			puts(calls[i].name);
		return 0;
	}
	CHECK(argc > 2);
	add((struct sock_filter)LOAD_NUMBER);
	for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
		without(name);
	add((struct sock_filter)OTHERWISE(SECCOMP_RET_ALLOW));
	program.len = length;
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	execvp(argv[2], argv + 2);
	return 127;
}
