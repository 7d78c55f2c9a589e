#!/bin/bash
# async-profiler has a thread where it was chosen, or is there; it ends with the agent, also with one that was
# called off, and with one whose engine does not answer.
. "$(dirname "$0")/agent.inc"

cat >"$work/ends.c" <<'C'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

/* Threads of that name that this process has. */
static int threads(const char *name)
{
	char command[128];
	FILE *out;
	int count = -1;

	snprintf(command, sizeof(command), "grep -lx %s /proc/%d/task/*/comm 2>/dev/null | wc -l", name,
		 getpid());
	out = popen(command, "r");
	if (!out || fscanf(out, "%d", &count) != 1)
		count = -1;
	if (out)
		pclose(out);
	return count;
}

static int wait_for(int (*what)(void), int wanted)
{
	for (int i = 0; i < 20000 && what() != wanted; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return what();
}

static int engine_threads(void)
{
	return threads("asprof-engine");
}

static int agent_threads(void)
{
	return threads("asprof-agent");
}

/* "delayed" or "running": when to stop; then the number of threads that there are to be before. */
int main(int argc, char **argv)
{
	int running = !strcmp(argv[1], "running"), wanted = atoi(argv[2]);

	for (int turn = 0; turn < 3; turn++) {
		if (turn && asprof_agent_start() && errno != EALREADY)
			return 2;
		if (running && wait_for(asprof_agent_running, 1) != 1)
			return 3;
		if (wait_for(agent_threads, 1) != 1 || engine_threads() != wanted)
			return 4;
		asprof_agent_stop();
		if (wait_for(agent_threads, 0) || wait_for(engine_threads, 0))
			return 5;
	}
	return argc != 3;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -o "$work/ends" "$work/ends.c" || exit 1
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/engine.so" \
	test/programs/fake_engine.c || exit 1

# ends ENGINE LIB DELAY WHEN THREADS
ends() {
	profiled "$work/out" "$1" LIB="$2" PROCESS=ends START_DELAY="$3" EXIT_TIMEOUT=20s \
		"$work/ends" "$4" "$5" 2>"$work/said" || fail "$*: status $?, $(cat "$work/said")"
}

for engine in async-profiler auto; do
	ends $engine "$work/engine.so" 0 running 1
	ends $engine "$work/engine.so" 1h delayed 1
done
ends auto "$work/nowhere.so" 0 running 0
ends auto libnowhere.so 1h delayed 0
ends builtin "$work/engine.so" 0 running 0

# One that does not answer is left alone, and the program ends as it would.
cat >"$work/hangs.c" <<'C'
#include <string.h>
#include <unistd.h>

typedef void writer(const char *text, size_t size);

const char *asprof_execute(const char *command, writer *output)
{
	(void)output;
	while (!strncmp(command, "stop", 4))
		pause();
	return NULL;
}

void asprof_init(void)
{
}

const char *asprof_error_str(const char *error)
{
	return error;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/hangs.so" "$work/hangs.c" || exit 1
cat >"$work/stops.c" <<'C'
#include <errno.h>
#include <time.h>

#include "preload/asprof_agent.h"

int main(void)
{
	for (int i = 0; i < 20000 && !asprof_agent_running(); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (!asprof_agent_running() || !asprof_agent_stop() || errno != ETIMEDOUT)
		return 2;
	/* The agent's own thread gives it up, and another can be started. */
	for (int i = 0; i < 20000; i++) {
		if (!asprof_agent_start())
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return 3;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -o "$work/stops" "$work/stops.c" || exit 1
profiled "$work/out" async-profiler LIB="$work/hangs.so" EXIT_TIMEOUT=100ms \
	timeout 60 "$work/stops" 2>"$work/said" || fail "hangs: status $?, $(cat "$work/said")"
grep -q 'stop failed: it does not answer' "$work/said" || fail "hangs: $(cat "$work/said")"
echo ok
