/* Runs a program that makes no descriptors, under ptrace(2), and reports each one that appears in
 * its table below FLOOR. It starts at the program's first call of getsid(2) in its main thread. The
 * loader may open each library once, and its cache, when the program calls dlopen(3).
 *
 * usage: watch_fds FLOOR PROGRAM [ARGUMENT...]
 * Ends with 0; 1 after a line for each; 77 if it cannot watch. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Its header and the kernel's conflict. */
long ptrace(int request, ...);

#define THREADS_MAX 4096
#define LOADS_MAX   8

static struct thread {
	pid_t tid;
	struct ptrace_syscall_info entry; /* of its current call */
} threads[THREADS_MAX];

static char loaded[LOADS_MAX][256];
static pid_t program;
static bool watching;
static int found, elsewhere, floor_number;

static struct thread *thread_of(pid_t tid)
{
	for (size_t i = 0; i < THREADS_MAX; i++)
		if (!threads[i].tid || threads[i].tid == tid) {
			threads[i].tid = tid;
			return &threads[i];
		}
	fprintf(stderr, "watch_fds: too many threads\n");
	exit(77);
}

static void forget_thread(pid_t tid)
{
	struct thread *thread = thread_of(tid);

	while (thread + 1 < threads + THREADS_MAX && thread->tid) {
		thread[0] = thread[1];
		thread++;
	}
}

static bool makes_descriptor(const struct ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_pipe:
	case SYS_dup2:
	case SYS_eventfd:
	case SYS_epoll_create:
	case SYS_inotify_init:
#endif
	case SYS_openat:
	case SYS_dup:
	case SYS_dup3:
	case SYS_socket:
	case SYS_socketpair:
	case SYS_accept:
	case SYS_accept4:
	case SYS_pipe2:
	case SYS_eventfd2:
	case SYS_epoll_create1:
	case SYS_inotify_init1:
	case SYS_timerfd_create:
	case SYS_signalfd4:
	case SYS_memfd_create:
	case SYS_perf_event_open:
	case SYS_bpf:
	case SYS_userfaultfd:
	case 425: /* io_uring_setup */
	case 434: /* pidfd_open */
	case 437: /* openat2 */
	case 438: /* pidfd_getfd */
		return true;
	case SYS_fcntl:
		return call->entry.args[1] == F_DUPFD || call->entry.args[1] == F_DUPFD_CLOEXEC;
	}
	return false;
}

/* The path that OPENAT opens; "" for another call. */
static void read_path(pid_t tid, const struct ptrace_syscall_info *call, char *path, size_t size)
{
	struct iovec here = { path, size - 1 };
	struct iovec there = { (void *)(uintptr_t)call->entry.args[1], size - 1 };

	memset(path, 0, size);
	if (call->entry.nr == SYS_openat)
		while (process_vm_readv(tid, &here, 1, &there, 1, 0) < 0 && here.iov_len > 16)
			here.iov_len = there.iov_len = here.iov_len / 2;
}

static bool is_loaders(const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name || (!strstr(name, ".so.") && !strstr(name, "ld.so.cache")))
		return false;
	for (size_t i = 0; i < LOADS_MAX; i++) {
		if (!strcmp(loaded[i], path))
			return false; /* once */
		if (!*loaded[i]) {
			snprintf(loaded[i], sizeof(loaded[i]), "%s", path);
			return true;
		}
	}
	return false;
}

static void read_name(pid_t tid, char name[32])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", program, tid);
	file = fopen(path, "r");
	if (!file || !fgets(name, 32, file))
		strcpy(name, "?");
	name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
}

static void look_at(pid_t tid, const struct ptrace_syscall_info *call, long result)
{
	long differs = syscall(SYS_kcmp, program, tid, KCMP_FILES, 0, 0);
	char path[256], name[32];

	if (differs < 0 && errno != ESRCH) {
		fprintf(stderr, "watch_fds: kcmp: %s\n", strerror(errno));
		exit(77);
	}
	if (differs) {
		elsewhere++;
		return;
	}
	read_path(tid, call, path, sizeof(path));
	if (result >= floor_number || (tid == program && is_loaders(path)))
		return;
	read_name(tid, name);
	printf("call %llu of thread %s made descriptor %ld of the program's %s\n",
	       (unsigned long long)call->entry.nr, name, result, path);
	found++;
}

static void on_call(pid_t tid)
{
	struct thread *thread = thread_of(tid);
	struct ptrace_syscall_info now;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(now), &now) <= 0)
		return;
	if (now.op == PTRACE_SYSCALL_INFO_ENTRY) {
		thread->entry = now;
		watching = watching || (tid == program && now.entry.nr == SYS_getsid);
	} else if (now.op == PTRACE_SYSCALL_INFO_EXIT && watching && !now.exit.is_error &&
		   makes_descriptor(&thread->entry)) {
		look_at(tid, &thread->entry, (long)now.exit.rval);
	}
}

/* The signal to continue with. */
static int on_stop(pid_t tid, int status)
{
	int signo = WSTOPSIG(status);

	if (signo == (SIGTRAP | 0x80))
		on_call(tid);
	else if (!(status >> 16) && signo != SIGSTOP)
		return signo;
	return 0;
}

static void start(char **argv)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int status;

	program = fork();
	if (!program) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(77);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	if (program < 0 || waitpid(program, &status, 0) != program || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, program, 0, options) ||
	    ptrace(PTRACE_SYSCALL, program, 0, 0)) {
		fprintf(stderr, "watch_fds: cannot trace\n");
		exit(77);
	}
}

int main(int argc, char **argv)
{
	int status, ended = -1;
	pid_t tid;

	if (argc < 3)
		return 77;
	floor_number = atoi(argv[1]);
	setenv("LD_PRELOAD", getenv("WATCHED_PRELOAD") ? getenv("WATCHED_PRELOAD") : "", 1);
	start(argv + 2);
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			ptrace(PTRACE_SYSCALL, tid, 0, (long)on_stop(tid, status));
			continue;
		}
		forget_thread(tid);
		if (tid == program)
			ended = status;
	}
	printf("%d descriptors elsewhere, status %#x\n", elsewhere, ended);
	return found || ended;
}
