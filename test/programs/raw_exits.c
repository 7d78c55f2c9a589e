/* Computes for a moment, and ends without exit(3): "group" and "exec": by syscall(2). "exit": the
 * same, but only of its main thread, which is the only one. "thread": of its main thread, and a
 * moment later of another. "child": a child by clone(2) does so, and its status is the program's.
 * "alone" and "last": by the end of its last thread, the main thread or another, which is then an
 * exit(3) that writes the buffered output. "inline": by an instruction of its own, when its
 * standard input ends. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

__attribute__((noinline)) static void computes(void)
{
	double end = thread_cpu_ms() + 100;

	while (thread_cpu_ms() < end)
		;
}

static void say_bye(void)
{
	puts("bye");
}

static void *return_last(void *unused)
{
	computes();
	puts("last");
	return unused;
}

static void *leave(void *unused)
{
	computes();
	syscall(SYS_exit, 0);
	return unused;
}

static int child(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status;

	if (!pid) {
		wait_for_agent(30000);
		computes();
		syscall(SYS_exit, 3);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void exit_group_inline(long status)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(status));
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = status, x8 __asm__("x8") = SYS_exit_group;

	__asm__ volatile("svc #0" ::"r"(x0), "r"(x8));
#endif
}

int main(int argc, char **argv)
{
	char *const become[] = { "sh", "-c", "exit 3", NULL }, *const none[] = { NULL };
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;

	wait_for_agent(30000);
	computes();
	if (!strcmp(how, "inline")) {
		printf("%.0f\n", thread_cpu_ms());
		fflush(stdout);
		while (getchar() != EOF)
			;
		exit_group_inline(3);
	}
	if (!strcmp(how, "child"))
		return child();
	if (!strcmp(how, "alone") || !strcmp(how, "last")) {
		atexit(say_bye);
		puts("main");
	}
	if (!strcmp(how, "last"))
		CHECK(!pthread_create(&thread, NULL, return_last, NULL));
	if (!strcmp(how, "alone") || !strcmp(how, "last"))
		pthread_exit(NULL);
	if (!strcmp(how, "thread"))
		CHECK(!pthread_create(&thread, NULL, leave, NULL));
	if (!strcmp(how, "thread"))
		syscall(SYS_exit, 0);
	if (!strcmp(how, "group"))
		syscall(SYS_exit_group, 3);
	if (!strcmp(how, "exit"))
		syscall(SYS_exit, 3);
	if (!strcmp(how, "exec")) {
		syscall(SYS_execve, "/no/such/program", become, none);
		syscall(SYS_execve, "/bin/sh", become, none);
	}
	return 1;
}
