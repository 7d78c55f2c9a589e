/* A process that cannot be attached to, or not safely. Prints "ready", and at the end of its input "ok". Modes:
 *   vfork   waits for a child of vfork(2), which reads the input
 *   strict  permits itself read(2), write(2) and exit(2) alone
 *   kill    a seccomp filter ends it at mmap(2) and clone(2)
 *   error   the filter refuses them
 *   allow   the filter permits all calls
 *   execs   executes itself all the time
 *   zombie  its first thread has ended, another one reads
 *   leaves  executes another program, which does the rest, when it has a second thread
 *   exits   a child, whose PID it prints, ends, but cannot until the end of the input
 *   worker  its second thread has the filter of "kill"
 *   strictly  its second thread permits itself read(2), write(2) and exit(2) alone
 *   adds    after a byte of input its second thread permits itself all calls
 *   trap    a filter answers mmap(2) and clone(2) with SIGSYS, which it handles
 *   clone   the same with clone(2) alone
 *   dispatch    it has Syscall User Dispatch, for code above its own
 *   dispatches  its second thread has it */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text)
{
	if (syscall(SYS_write, STDOUT_FILENO, text, strlen(text)) < 0)
		syscall(SYS_exit, 1);
}

static void read_all(void)
{
	char byte;

	while (syscall(SYS_read, STDIN_FILENO, &byte, 1) == 1)
		;
}

/* FIRST: mmap(2), or clone(2) alone. */
static void filter_calls(unsigned first, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		exit(1);
}

static void wait_for_child(void)
{
	int status = 1;
	pid_t child = vfork();

	if (!child) {
		read_all();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

static _Noreturn void execute_again(char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	if (poll(&input, 1, 0) == 0)
		execv("/proc/self/exe", argv);
	say("ok\n");
	exit(0);
}

static void *end_later(void *unused)
{
	(void)unused;
	read_all();
	say("ok\n");
	exit(0);
}

static _Noreturn void execute_when_attached(void)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	static char command[] = "while read -r line; do :; done; echo ok";
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat tasks;

	while (!stat("/proc/self/task", &tasks) && tasks.st_nlink < 4 && !poll(&input, 1, 0))
		;
	execv(shell, (char *[]){ shell, option, command, NULL });
	exit(1);
}

/* The first process of a PID namespace ends when all others are gone: also one whose parent is outside and does not wait. */
static void end_slowly(void)
{
	char path[64];
	pid_t first, last;
	int space;

	if (unshare(CLONE_NEWPID))
		exit(77);
	first = fork();
	if (!first) {
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)first);
	space = open(path, O_RDONLY);
	if (space < 0 || setns(space, CLONE_NEWPID))
		exit(1);
	last = fork();
	if (!last) {
		pause();
		_exit(0);
	}
	kill(first, SIGKILL);
	if (waitid(P_PID, (id_t)last, &(siginfo_t){ 0 }, WEXITED | WNOWAIT))
		exit(1);
	printf("%d\nready\n", (int)first);
	fflush(stdout);
	read_all();
	if (waitpid(last, NULL, 0) != last || waitpid(first, NULL, 0) != first)
		exit(1);
}

static _Atomic int is_confined;

static void *read_confined(void *mode)
{
	if (strcmp(mode, "worker") == 0)
		filter_calls(SYS_mmap, SECCOMP_RET_KILL_PROCESS);
	else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		exit(1);
	is_confined = 1;
	read_all();
	syscall(SYS_exit, 0);
	return NULL;
}

static void *filter_later(void *unused)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) == 1)
		filter_calls(SYS_mmap, SECCOMP_RET_ALLOW);
	return end_later(unused);
}

static void start(void *(*run)(void *), const char *mode)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)mode))
		exit(1);
}

/* ---- Calls that are answered with SIGSYS ---- */

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static _Atomic int refused_calls;

static void on_refused_call(int signo)
{
	(void)signo;
	refused_calls++;
}

static void handle_refused_calls(void)
{
	signal(SIGSYS, on_refused_call);
}

/* The handler is as before, and was not called. */
static void check_refused_calls(void)
{
	struct sigaction now;

	if (refused_calls || sigaction(SIGSYS, NULL, &now) || now.sa_handler != on_refused_call)
		exit(1);
}

/* The kernel maps the vDSO above the C library. */
static void dispatch_calls(void)
{
	static char selector = 1;

	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, getauxval(AT_SYSINFO_EHDR), &selector))
		exit(77);
}

static void *read_dispatched(void *unused)
{
	dispatch_calls();
	is_confined = 1;
	read_all();
	return unused;
}

enum mode {
	VFORK,
	STRICT,
	KILL,
	ERROR,
	ALLOW,
	EXECS,
	ZOMBIE,
	LEAVES,
	EXITS,
	WORKER,
	STRICTLY,
	ADDS,
	TRAP,
	CLONE,
	DISPATCH,
	DISPATCHES
};

static void confine(enum mode mode, const char *name)
{
	if (mode == STRICT && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		exit(1);
	if (mode == KILL || mode == ERROR || mode == ALLOW)
		filter_calls(SYS_mmap, mode == KILL    ? SECCOMP_RET_KILL_PROCESS
				       : mode == ERROR ? SECCOMP_RET_ERRNO | EPERM
						       : SECCOMP_RET_ALLOW);
	if (mode >= TRAP)
		handle_refused_calls();
	if (mode == TRAP || mode == CLONE)
		filter_calls(mode == TRAP ? SYS_mmap : SYS_clone, SECCOMP_RET_TRAP);
	if (mode == DISPATCH)
		dispatch_calls();
	if (mode == DISPATCHES)
		for (start(read_dispatched, name); !is_confined;)
			sched_yield();
	if (mode == WORKER || mode == STRICTLY)
		for (start(read_confined, name); !is_confined;)
			sched_yield();
	if (mode == ADDS)
		start(filter_later, name);
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "vfork", "strict", "kill",     "error",
					     "allow", "execs",  "zombie",   "leaves",
					     "exits", "worker", "strictly", "adds",
					     "trap",  "clone",  "dispatch", "dispatches" };
	const char *name = argc > 1 ? argv[1] : "";
	static char again[] = "again";
	size_t mode = 0;

	if (!strcmp(name, again))
		execute_again(argv);
	while (mode < sizeof(modes) / sizeof(*modes) && strcmp(name, modes[mode]))
		mode++;
	confine(mode, name);
	if (mode != EXITS)
		say("ready\n");
	if (mode == EXECS)
		execv("/proc/self/exe", (char *[]){ argv[0], again, NULL });
	if (mode == ZOMBIE) {
		start(end_later, name);
		pthread_exit(NULL);
	}
	if (mode == LEAVES)
		execute_when_attached();
	while (mode == ADDS)
		pause();
	if (mode == VFORK)
		wait_for_child();
	else if (mode == EXITS)
		end_slowly();
	else
		read_all();
	if (mode >= TRAP)
		check_refused_calls();
	say("ok\n");
	syscall(SYS_exit, 0);
	return 0;
}
