#!/bin/bash
# async-profiler has a thread if it was selected or is installed. The thread ends with the agent, also if the start
# was cancelled, or if the engine does not answer.
. "$(dirname "$0")/agent.inc"

cat >"$work/ends.c" <<'C'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

/* Number of threads of that name in this process. */
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
	int got = what();

	/* (A new thread has its creator's name until it sets its own.) */
	for (int i = 0; i < 20000 && got != wanted; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		got = what();
	}
	return got;
}

static int engine_threads(void)
{
	return threads("asprof-engine");
}

static int agent_threads(void)
{
	return threads("asprof-agent");
}

/* The library makes that folder when it is started. */
static int has_begun(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s.begun", getenv("NAME"));
	return !access(path, F_OK);
}

/* Stop it at once, and let the engine continue after the last request. */
static int stop_hanging(const char *name)
{
	char path[512];

	if (wait_for(engine_threads, 1) != 1 || wait_for(has_begun, 1) != 1)
		return 2;
	if (!asprof_agent_stop() || errno != ETIMEDOUT || wait_for(agent_threads, 0))
		return 3;
	if (engine_threads() != 1)
		return 4;
	snprintf(path, sizeof(path), "%s.go", name);
	return mkdir(path, 0700) || wait_for(engine_threads, 0) ? 5 : 0;
}

/* "delayed" or "running": when to stop; then the number of engine's threads that there are to be before. The
 * agent's own is made when the delay is over, or with the engine's, or when it is asked for. */
int main(int argc, char **argv)
{
	int running = !strcmp(argv[1], "running"), wanted = atoi(argv[2]);

	if (!strcmp(argv[1], "hanging"))
		return stop_hanging(argv[2]);
	for (int turn = 0; turn < 3; turn++) {
		if (turn && asprof_agent_start() && errno != EALREADY)
			return 2;
		if (running && wait_for(asprof_agent_running, 1) != 1)
			return 3;
		int agents = running || wanted || turn;

		if (wait_for(agent_threads, agents) != agents || wait_for(engine_threads, wanted) != wanted)
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

# If the engine does not answer, the agent leaves it alone, and the program continues. When the engine finishes its
# command, it is stopped. It waits in the command HANGS until the folder NAME.go exists.
cat >"$work/hangs.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef void writer(const char *text, size_t size);

static char *path(const char *what)
{
	static char text[512];

	snprintf(text, sizeof(text), "%s.%s", getenv("NAME"), what);
	return text;
}

const char *asprof_execute(const char *command, writer *output)
{
	(void)output;
	if (!strncmp(command, "start", 5))
		mkdir(path("begun"), 0700);
	if (!strncmp(command, "stop", 4))
		mkdir(path("stopped"), 0700);
	if (!strncmp(command, getenv("HANGS"), strlen(getenv("HANGS"))))
		while (access(path("go"), F_OK))
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
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

# hangs COMMAND WORDS: the agent gives up with WORDS, and the thread ends when it can. (Without a start delay the
# constructor waits until the engine runs.)
hangs() {
	rm -rf "$work"/name.*
	NAME=$work/name HANGS=$1 profiled "$work/out" async-profiler LIB="$work/hangs.so" START_DELAY=1ms \
		PROCESS=ends EXIT_TIMEOUT=100ms "$work/ends" hanging "$work/name" 2>"$work/said" ||
		fail "hangs at $1: status $?, $(cat "$work/said")"
	grep -q "$2" "$work/said" || fail "hangs at $1: $(cat "$work/said")"
	[ -d "$work/name.stopped" ] || fail "hangs at $1: it was not stopped"
}

hangs start 'start failed: it does not answer'
hangs stop 'stop failed: it does not answer'
echo ok
