/* Profiles itself by async-profiler, whose library it loads itself: at once, or after the agent
 * (late). It uses BURN_MS of CPU time before, during and after.
 * Usage: own_profiler LIBRARY early|late RECORDING
 * Prints the results of its start and its stop. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/asprof.h"
#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define BURN_MS 300

static void *library;

static void *function(const char *name)
{
	void *found = dlsym(library, name);

	CHECK(found);
	return found;
}

static void ignore(const char *text, size_t length)
{
	(void)text;
	(void)length;
}

static const char *execute(const char *command)
{
	asprof_error_t (*run)(const char *, asprof_writer_t) = function("asprof_execute");
	const char *(*text)(asprof_error_t) = function("asprof_error_str");
	asprof_error_t err = run(command, ignore);

	return err ? text(err) : "ok";
}

__attribute__((noinline)) static void in_main(void)
{
	clock_t end = clock() + BURN_MS * CLOCKS_PER_SEC / 1000;

	while (clock() < end)
		;
	atomic_signal_fence(memory_order_seq_cst); /* a call, not a jump */
}

static void wait_for_agent(void)
{
	struct timespec step = { .tv_nsec = 1000000 };

	for (int i = 0; asprof_agent_running && i < 30000 && !asprof_agent_running(); i++)
		nanosleep(&step, NULL);
}

int main(int argc, char **argv)
{
	char command[512];
	const char *started;
	void (*init)(void);

	CHECK(argc == 4);
	if (!strcmp(argv[2], "late"))
		wait_for_agent();
	library = dlopen(argv[1], RTLD_NOW);
	CHECK(library);
	*(void **)&init = function("asprof_init");
	init();
	wait_for_agent();
	in_main();
	snprintf(command, sizeof(command), "start,event=ctimer,interval=1ms,jfr,file=%s", argv[3]);
	started = execute(command);
	in_main();
	printf("%s, %s\n", started, execute("stop"));
	in_main();
	return 0;
}
