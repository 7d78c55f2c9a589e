/* A seccomp filter asks a second thread about each call of the first thread that makes a descriptor. Threads that the first
 * one creates inherit the filter: those of an agent that it lets in. Prints "ready", and at the end of its input "ok", if
 * none of these calls made a descriptor in the program's table.
 *
 *   opens       so
 *   opens bare  the status says whether the kernel can do all that */
#include <errno.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

#define ASK(number)                                          \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)

static _Atomic int asked_by = -1; /* the filter's descriptor */
static _Atomic int calls, mistakes;

static int filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ASK(SYS_openat),
		ASK(SYS_socket),
		ASK(SYS_pipe2),
		ASK(SYS_dup),
		ASK(SYS_memfd_create),
		ASK(SYS_eventfd2),
		ASK(SYS_epoll_create1),
		ASK(SYS_timerfd_create),
		ASK(SYS_pidfd_open),
		ASK(SYS_pidfd_getfd),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &filter);
}

/* The thread of the call waits meanwhile. */
static void look_at(const struct seccomp_notif *call)
{
	calls++;
	if (syscall(SYS_kcmp, getpid(), (pid_t)call->pid, KCMP_FILES, 0, 0) != 0)
		return;
	mistakes++;
	printf("call %d makes a descriptor in the program's table\n", call->data.nr);
	fflush(stdout);
}

static void *answer(void *unused)
{
	struct seccomp_notif_resp response;
	struct seccomp_notif call;

	while (asked_by < 0)
		usleep(1000);
	for (;;) {
		memset(&call, 0, sizeof(call));
		if (ioctl(asked_by, SECCOMP_IOCTL_NOTIF_RECV, &call))
			continue;
		look_at(&call);
		response = (struct seccomp_notif_resp){ .id = call.id,
							.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		ioctl(asked_by, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
	return unused;
}

static int is_possible(void)
{
	return !syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0) &&
	       !syscall(SYS_close_range, INT_MAX, INT_MAX, CLOSE_RANGE_UNSHARE) &&
	       filter_calls() >= 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	(void)argv;
	if (argc > 1)
		return !is_possible();
	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	asked_by = filter_calls();
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	puts(calls && !mistakes ? "ok" : "bad");
	return 0;
}
