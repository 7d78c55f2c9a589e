/* Long polls, marked as by the Rust crate async-profiler-agent: by the three functions of
 * libasyncProfiler.so.
 * usage: pollcatch [start]; start also starts its own profiler as the crate does. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/asprof.h"
#include "arch/arch.h"

static struct asprof_thread_local_data *(*get_data)(void);
static asprof_jfr_event_key (*register_event)(const char *);
static asprof_error_t (*emit)(asprof_jfr_event_key, const uint8_t *, size_t);
static asprof_error_t (*execute)(const char *, asprof_writer_t);

static uint64_t counter(void)
{
	struct asprof_thread_local_data *data = get_data();

	return data ? data->sample_counter : 0;
}

__attribute__((noinline)) static void long_poll(void)
{
	struct timespec now;
	long until;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + 20;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
}

static void output(const char *text, size_t size)
{
	(void)text;
	(void)size;
}

int main(int argc, char **argv)
{
	void *library = dlopen("libasyncProfiler.so", RTLD_LAZY | RTLD_LOCAL);
	int key = -1, failed = 0;

	if (!library) {
		puts("no library");
		return 1;
	}
	*(void **)&get_data = dlsym(library, "asprof_get_thread_local_data");
	*(void **)&register_event = dlsym(library, "asprof_register_jfr_event");
	*(void **)&emit = dlsym(library, "asprof_emit_jfr_event");
	*(void **)&execute = dlsym(library, "asprof_execute");
	if (argc > 2 && !strcmp(argv[1], "start")) {
		char command[256];

		snprintf(command, sizeof(command), "start,event=cpu,interval=10000000,jfr,file=%s",
			 argv[2]);
		printf("start %s\n", execute(command, output) ? "refused" : "ok");
	}
	for (int i = 0; i < 60; i++) {
		uint64_t ends[2] = { arch_ticks() }, before = counter();

		long_poll();
		if (counter() == before)
			continue;
		ends[1] = arch_ticks();
		if (key < 0)
			key = register_event("tokio.PollcatchV1");
		failed += emit(key, (const uint8_t *)ends, sizeof(ends)) != NULL;
	}
	if (argc > 2)
		execute("stop", output);
	printf("failed %d\n", failed);
	return 0;
}
