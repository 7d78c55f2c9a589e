/* A static program that looks for what a profiler could change: children, signals, descriptors, mappings, its tracer. Then it
 * computes in hot() for MS milliseconds of its time, in two threads. Prints what it sees, and ends with 7. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t children;

static void on_child(int signo)
{
	(void)signo;
	children++;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Lines of the file NAME that contain TEXT. */
static int count_lines(const char *name, const char *text)
{
	FILE *file = fopen(name, "r");
	char line[1024];
	int count = 0;

	while (fgets(line, sizeof(line), file))
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}

static int has_sigchld_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGCHLD);
}

static void look(const char *when)
{
	int waited = waitpid(-1, NULL, WNOHANG);

	printf("%s: wait %d %s, SIGCHLD %d %d, descriptors %d, writable code %d, traced %d\n", when,
	       waited, waited < 0 ? strerror(errno) : "", (int)children, has_sigchld_pending(),
	       count_descriptors(), count_lines("/proc/self/maps", " rwx"),
	       !count_lines("/proc/self/status", "TracerPid:\t0\n"));
}

__attribute__((noinline)) static uint64_t hot(uint64_t value)
{
	for (int i = 0; i < 1000000; i++)
		value = value * 6364136223846793005u + 1;
	return value;
}

static void *compute(void *ms)
{
	struct timespec begin, now;
	volatile uint64_t value = 1;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		value = hot(value);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 *(long *)ms);
	return NULL;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 1000;
	pthread_t thread;

	signal(SIGCHLD, on_child);
	look("at first");
	if (pthread_create(&thread, NULL, compute, &ms))
		return 1;
	compute(&ms);
	pthread_join(thread, NULL);
	look("at last");
	printf("user %d, status follows\n", (int)geteuid());
	return 7;
}
