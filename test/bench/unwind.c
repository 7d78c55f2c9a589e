/* Mean cost of a stack walk in a sampling handler at 6, 30 and 100 frames: the agent's and, if
 * ASPROF_TEST_LIB names its library, async-profiler's according to itself (features=stats), each in
 * a separate process with the same CPU timer per thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/asprof.h"
#include "core/clock.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/modules.h"
#include "engine/unwind/unwind.h"
#include "test/fixtures/compile_modules.h"

#define NOINLINE    __attribute__((noinline))
#define BURN_NS     1500000000u
#define INTERVAL_NS 1000000
#define FRAMES_MAX  512
#define HOT_REPEATS 20000

/* The result of one way of sampling. */
struct result {
	double walk_ns, frames;
};

static uint64_t end_ns;
static volatile uint64_t sink;

NOINLINE static void burn(void)
{
	do {
		for (unsigned i = 0; i < 20000; i++)
			sink += i * i;
	} while (clock_monotonic_ns() < end_ns);
}

NOINLINE static uint64_t descend(int depth, void (*bottom)(void))
{
	volatile uint64_t local = (uint64_t)depth;

	if (depth)
		return descend(depth - 1, bottom) + local;
	bottom();
	return local;
}

/* ---- The builtin engine ---- */

static uint64_t total_ns, walks, frames;
static uintptr_t stack_high;

static void on_timer(int signo, siginfo_t *info, void *context)
{
	static uintptr_t pcs[FRAMES_MAX];
	uint64_t begin = clock_monotonic_ns();
	bool truncated;

	(void)signo;
	(void)info;
	frames += unwind_context(context, stack_high, pcs, FRAMES_MAX, &truncated);
	total_ns += clock_monotonic_ns() - begin;
	walks++;
}

static void find_stack_high(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &low, &size))
		stack_high = (uintptr_t)low + size;
	pthread_attr_destroy(&attributes);
}

static void start_timer(void)
{
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
	struct itimerspec every = { { 0, INTERVAL_NS }, { 0, INTERVAL_NS } };
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigaction(SIGPROF, &action, NULL);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		exit(1);
}

/* As with a collector after the program has run for a moment: modules on stacks have tables. */
static void open_modules(void)
{
	cfi_lookup_init();
	if (modules_open())
		exit(1);
	if (compile_modules() != 1) {
		fputs("unwind: no table was compiled\n", stderr);
		exit(1);
	}
}

static struct result measure_builtin(int depth)
{
	struct result result = { 0 };

	find_stack_high();
	open_modules();
	start_timer();
	end_ns = clock_monotonic_ns() + BURN_NS;
	descend(depth, burn);
	if (walks) {
		result.walk_ns = (double)total_ns / (double)walks;
		result.frames = (double)frames / (double)walks;
	}
	return result;
}

static double hot_ns;
static size_t hot_frames;

NOINLINE static void walk_hot(void)
{
	static uintptr_t pcs[FRAMES_MAX];
	uint64_t begin = clock_monotonic_ns();
	bool truncated;

	for (int i = 0; i < HOT_REPEATS; i++)
		hot_frames = unwind_here(stack_high, 0, pcs, FRAMES_MAX, &truncated);
	hot_ns = (double)(clock_monotonic_ns() - begin) / HOT_REPEATS;
}

static struct result measure_hot(int depth)
{
	find_stack_high();
	open_modules();
	descend(depth, walk_hot);
	return (struct result){ hot_ns, (double)hot_frames };
}

/* ---- async-profiler ---- */

static char output[65536];
static size_t output_length;

static void on_output(const char *text, size_t size)
{
	if (size > sizeof(output) - 1 - output_length)
		size = sizeof(output) - 1 - output_length;
	memcpy(output + output_length, text, size);
	output_length += size;
	output[output_length] = '\0';
}

static struct result measure_asprof(int depth)
{
	static const char key[] = "stackwalk_ns_avg ";
	asprof_error_t (*execute)(const char *, asprof_writer_t);
	struct result result = { 0 };
	void (*init)(void);
	const char *at;
	char command[256];
	char file[] = "/tmp/asprof-bench-XXXXXX";
	int fd = mkstemp(file);
	void *library = dlopen(getenv("ASPROF_TEST_LIB"), RTLD_NOW);

	if (fd < 0 || !library)
		exit(1);
	*(void **)&init = dlsym(library, "asprof_init");
	*(void **)&execute = dlsym(library, "asprof_execute");
	if (!init || !execute)
		exit(1);
	init();
	snprintf(command, sizeof(command),
		 "start,event=ctimer,interval=%d,cstack=dwarf,features=stats,loglevel=none,jfr,"
		 "file=%s",
		 INTERVAL_NS, file);
	if (execute(command, on_output))
		exit(1);
	end_ns = clock_monotonic_ns() + BURN_NS;
	descend(depth, burn);
	output_length = 0;
	execute("metrics", on_output);
	at = strstr(output, key);
	if (at)
		result.walk_ns = strtod(at + sizeof(key) - 1, NULL);
	execute("stop", on_output);
	unlink(file);
	close(fd);
	return result;
}

/* ---- Comparison ---- */

struct job {
	struct result (*measure)(int);
	int depth;
	struct result result;
};

static void *run_job(void *argument)
{
	struct job *job = argument;

	job->result = job->measure(job->depth);
	return NULL;
}

/* In a separate process, where the profilers cannot affect each other, and on a separate thread,
 * which begins with few frames. */
static struct result measure_apart(struct result (*measure)(int), int depth)
{
	struct job job = { .measure = measure, .depth = depth };
	struct result result;
	int pipes[2], status;
	pthread_t thread;
	pid_t pid;

	if (pipe(pipes))
		exit(1);
	pid = fork();
	if (!pid) {
		if (pthread_create(&thread, NULL, run_job, &job) || pthread_join(thread, NULL))
			_exit(1);
		_exit(write(pipes[1], &job.result, sizeof(result)) != sizeof(result));
	}
	close(pipes[1]);
	if (pid < 0 || read(pipes[0], &result, sizeof(result)) != sizeof(result))
		result = (struct result){ 0 };
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return result;
}

int main(void)
{
	static const int depths[] = { 6, 30, 100 };
	const bool rival = getenv("ASPROF_TEST_LIB");
	struct result ours, hot, theirs = { 0 };
	int outer;

	/* The number of frames before the first descent. */
	outer = (int)measure_apart(measure_builtin, 0).frames;
	if (outer < 1 || outer > depths[0])
		return 1;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		ours = measure_apart(measure_builtin, depths[i] - outer);
		hot = measure_apart(measure_hot, depths[i] - outer);
		if (rival)
			theirs = measure_apart(measure_asprof, depths[i] - outer);
		printf("unwind: %.0f frames: builtin %.0f ns a walk when sampling, %.0f ns in a "
		       "loop",
		       ours.frames, ours.walk_ns, hot.walk_ns);
		if (theirs.walk_ns > 0)
			printf("; async-profiler %.0f ns, ratio %.2f", theirs.walk_ns,
			       ours.walk_ns / theirs.walk_ns);
		else
			printf("; async-profiler not measured");
		printf("\n");
		if (ours.walk_ns <= 0)
			return 1;
	}
	return 0;
}
