#!/bin/bash
# A program may remove its environment: no thread of the agent reads it after its start.
. "$(dirname "$0")/agent.inc"

cat >"$work/leaves.c" <<'C'
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* NAME.begun exists when the engine has read a variable; NAME.forked ends its start. */
int main(int argc, char **argv)
{
	char begun[512], forked[512];

	environ = (char **)8;
	snprintf(begun, sizeof(begun), "%s.begun", argv[argc - 1]);
	snprintf(forked, sizeof(forked), "%s.forked", argv[argc - 1]);
	for (int i = 0; access(begun, F_OK); i++) {
		if (i == 30000)
			return 2;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	if (mkdir(forked, 0700))
		return 1;
	sleep(1);
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -o "$work/leaves" "$work/leaves.c" || exit 1
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/engine.so" \
	test/programs/waiting_engine.c || exit 1

WAITING_ENGINE=$work/name profiled "$work/out" async-profiler LIB="$work/engine.so" \
	START_DELAY=500ms LOG=info "$work/leaves" "$work/name" 2>"$work/said" ||
	fail "an engine: status $?, $(cat "$work/said")"
grep -q 'profiling leaves with async-profiler' "$work/said" || fail "$(cat "$work/said")"

# async-profiler's library reads it in its constructors too. (The program ends after the engine's start.)
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	profiled "$work/out" async-profiler START_DELAY=100ms LOG=info \
		"$work/leaves" "$work/library" 2>"$work/said" &
	program=$!
	while ! grep -q 'profiling leaves with async-profiler' "$work/said" 2>/dev/null && kill -0 "$program" 2>/dev/null; do
		sleep 0.1
	done
	mkdir "$work/library.begun"
	wait "$program" || fail "async-profiler: status $?, $(cat "$work/said")"
	[ -d "$work/library.forked" ] || fail "async-profiler: $(cat "$work/said")"
fi

# Uploads too, to an address without a server.
mkdir "$work/begun.begun"
profiled "$work/out" builtin START_DELAY=100ms S3_BUCKET=none METADATA=none \
	S3_ENDPOINT=http://127.0.0.1:1 EXIT_TIMEOUT=500ms \
	"$work/leaves" "$work/begun" 2>"$work/said" ||
	fail "builtin: status $?, $(cat "$work/said")"
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB does not name it"
