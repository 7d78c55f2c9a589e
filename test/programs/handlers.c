/* Stops and starts profiling TIMES (its argument) times, while threads compute, start, end and
 * fork, and one blocks every signal without the C library, with the sampling signal, SIGNAL,
 * pending. After each stop, its handlers, ignored and pending signals and timers must equal MASKS,
 * which it prints itself without arguments. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/system.h"
#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define BURN_NS 20000000

static int taken_by; /* the signal of samples of CPU time */

#define SAMPLES (UINT64_C(1) << (taken_by - 1))

static atomic_bool over;
static _Atomic int step; /* of the thread that blocks signals: even while it does not */
static _Atomic pid_t blocker;

/* The mask NAME in /proc of this process, or of its thread TID. Allocates nothing, for forked
 * children. */
static uint64_t mask_of(const char *name, pid_t tid)
{
	char path[64] = "/proc/self/status", text[4096], *line;
	ssize_t length;
	int fd;

	if (tid)
		snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, 16) : ~UINT64_C(0);
}

static int64_t cpu_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return spent.tv_sec * INT64_C(1000000000) + spent.tv_nsec;
}

static void burn(int64_t ns)
{
	int64_t until = cpu_ns() + ns;

	while (cpu_ns() < until)
		;
}

static void *computes(void *unused)
{
	while (!atomic_load(&over))
		burn(1000000);
	return unused;
}

static void *is_short(void *unused)
{
	burn(50000);
	return unused;
}

static void *makes_threads(void *unused)
{
	pthread_t thread;

	while (!atomic_load(&over))
		if (!pthread_create(&thread, NULL, is_short, NULL))
			pthread_join(thread, NULL);
	return unused;
}

static void *forks(void *unused)
{
	int status;
	pid_t child;

	while (!atomic_load(&over)) {
		child = fork();
		if (!child)
			_exit(mask_of("SigIgn:", 0) & SAMPLES ? 1 : 0);
		CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
		usleep(1000);
	}
	return unused;
}

static void wait_for(int wanted)
{
	while (atomic_load(&step) < wanted)
		usleep(100);
}

/* Samples of it are due while it blocks their signal; one queued signal is not of a timer. */
static void *blocks(void *unused)
{
	uint64_t all = ~UINT64_C(0), before;

	atomic_store(&blocker, gettid());
	for (int turn = 1; !atomic_load(&over); turn += 2) {
		kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before,
			     sizeof(all));
		kernel_call4(SYS_tgkill, getpid(), gettid(), taken_by, 0);
		burn(BURN_NS);
		atomic_store(&step, turn);
		wait_for(turn + 1);
		kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(all));
	}
	return unused;
}

/* If the kernel reports it (CONFIG_CHECKPOINT_RESTORE). */
static bool has_timers(void)
{
	char text[16];
	int fd = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, sizeof(text));

	close(fd);
	return fd >= 0 && length > 0;
}

static void check_masks(const char *const masks[])
{
	uint64_t caught = mask_of("SigCgt:", 0), ignored = mask_of("SigIgn:", 0);

	if (caught == strtoull(masks[0], NULL, 16) && ignored == strtoull(masks[1], NULL, 16))
		return;
	printf("caught %llx, ignored %llx, not %s and %s\n", (unsigned long long)caught,
	       (unsigned long long)ignored, masks[0], masks[1]);
	exit(1);
}

int main(int argc, char **argv)
{
	static void *(*const runs[])(void *) = { computes, computes, makes_threads, forks, blocks };
	pthread_t threads[sizeof(runs) / sizeof(*runs)];
	int times = argc > 4 ? atoi(argv[1]) : 0;

	/* The C library installs its own handler at the first one. */
	CHECK(!pthread_create(&threads[0], NULL, is_short, NULL) &&
	      !pthread_join(threads[0], NULL));
	if (!times)
		return printf("%llx %llx\n", (unsigned long long)mask_of("SigCgt:", 0),
			      (unsigned long long)mask_of("SigIgn:", 0)) < 0;
	taken_by = atoi(argv[4]);
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		CHECK(!pthread_create(&threads[i], NULL, runs[i], NULL));
	for (int i = 0; i < times; i++) {
		while (!asprof_agent_running())
			usleep(1000);
		CHECK(mask_of("SigCgt:", 0) & SAMPLES);
		wait_for(2 * i + 1);
		CHECK(mask_of("SigPnd:", atomic_load(&blocker)) & SAMPLES);
		CHECK(!asprof_agent_stop());
		check_masks((const char *const *)argv + 2);
		CHECK(!(mask_of("SigPnd:", atomic_load(&blocker)) & SAMPLES));
		CHECK(!has_timers());
		if (i == times - 1)
			atomic_store(&over, true);
		atomic_fetch_add(&step, 1);
		if (i < times - 1)
			CHECK(!asprof_agent_start());
	}
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		CHECK(!pthread_join(threads[i], NULL));
	check_masks((const char *const *)argv + 2);
	puts("done");
	return 0;
}
