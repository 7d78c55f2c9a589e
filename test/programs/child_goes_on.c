/* Children of a profiled process, by fork(3) and by a system call that the agent does not see.
 * Functions that async-profiler hooks work there as before: threads, their ends, and libraries. It
 * takes no samples there. In the first kind of child, which the agent knows, no thread has a timer.
 * Prints "ok". */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

#define ROUNDS    20
#define THREADS   4
#define BURN_MS   10
#define GIVE_UP_S 60

static bool is_seen;

static bool has_timers(void)
{
	FILE *file = fopen("/proc/self/timers", "r");
	int first = file ? fgetc(file) : EOF;

	if (file)
		fclose(file);
	return first != EOF;
}

static void *begin_and_end(void *ends_itself)
{
	double end = thread_cpu_ms() + BURN_MS;

	CHECK(!is_seen || !has_timers());
	while (thread_cpu_ms() < end)
		;
	if (ends_itself)
		pthread_exit(ends_itself);
	return ends_itself;
}

static void go_on(const char *library)
{
	pthread_t threads[THREADS];
	void *result, *handle;

	alarm(GIVE_UP_S);
	for (long i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, begin_and_end, (void *)(i % 2)));
	for (long i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], &result) && (long)result == i % 2);
	handle = dlopen(library, RTLD_NOW);
	CHECK(handle && dlsym(handle, "cos") && !dlclose(handle));
	CHECK(kill(getpid(), 0) == 0);
}

/* As a program without a C library's fork(3) and its handlers does. */
static pid_t fork_unseen(void)
{
#if defined(__x86_64__)
	long result = SYS_fork;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	return (pid_t)result;
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_clone;
	register long result __asm__("x0") = SIGCHLD;
	register long stack __asm__("x1") = 0;
	register long a __asm__("x2") = 0, b __asm__("x3") = 0, c __asm__("x4") = 0;

	__asm__ volatile("svc #0"
			 : "+r"(result)
			 : "r"(number), "r"(stack), "r"(a), "r"(b), "r"(c)
			 : "memory");
	return (pid_t)result;
#endif
}

int main(int argc, char **argv)
{
	pid_t pid;
	int status;

	CHECK(argc == 2);
	need_agent();
	for (int i = 0; i < ROUNDS; i++) {
		is_seen = i % 2;
		pid = is_seen ? fork() : fork_unseen();
		if (!pid) {
			go_on(argv[1]);
			_exit(7);
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (status != 7 << 8) {
			fprintf(stderr, "%s ended with status %#x\n",
				is_seen ? "a child" : "one unseen", status);
			return 1;
		}
	}
	puts("ok");
	return 0;
}
