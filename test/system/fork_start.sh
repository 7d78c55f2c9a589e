#!/bin/bash
# A fork does not wait until an engine has started.
. "$(dirname "$0")/agent.inc"

cat >"$work/forks.c" <<'C'
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Wait for NAME.begun; make NAME.forked after a fork. */
int main(int argc, char **argv)
{
	char begun[512], forked[512];
	int status;
	pid_t pid;

	snprintf(begun, sizeof(begun), "%s.begun", argv[argc - 1]);
	snprintf(forked, sizeof(forked), "%s.forked", argv[argc - 1]);
	for (int i = 0; access(begun, F_OK); i++) {
		if (i == 30000)
			return 2;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	pid = fork();
	if (!pid)
		_exit(0);
	if (mkdir(forked, 0700) || waitpid(pid, &status, 0) != pid || status)
		return 1;
	sleep(1);
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -o "$work/forks" "$work/forks.c" || exit 1
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/engine.so" \
	test/programs/waiting_engine.c || exit 1

WAITING_ENGINE=$work/name profiled "$work/out" async-profiler LIB="$work/engine.so" LOG=info \
	"$work/forks" "$work/name" 2>"$work/said" || fail "status $?, $(cat "$work/said")"
grep -q 'profiling forks with async-profiler' "$work/said" || fail "$(cat "$work/said")"
echo ok
