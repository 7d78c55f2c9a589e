#!/bin/bash
# A child can use the dynamic loader at whatever time it was forked: also while the agent loads async-profiler, or
# while the engine asks the loader for the libraries. The parent's reports have no samples of the child.
. "$(dirname "$0")/agent.inc"

# Until the second report, 60 s at most.
cat >"$work/forks.c" <<'C'
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/reports.h"

static int nothing(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size, (void)data;
	return 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + 60;
	int status;

	while (reports(argv[argc - 1]) < 2 && time(NULL) < end) {
		pid_t pid = fork();

		if (!pid) {
			signal(SIGALRM, SIG_DFL);
			alarm(20);
			dl_iterate_phdr(nothing, NULL);
			_exit(!dlopen("libm.so.6", RTLD_NOW) || !dlsym(RTLD_DEFAULT, "getpid"));
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			printf("a child ended with %#x\n", status);
			return 1;
		}
	}
	return reports(argv[argc - 1]) < 2;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -I. -o "$work/forks" "$work/forks.c" -ldl || exit 1

# forks ENGINE: a child that lives longer than the start delay has its own recording.
forks() {
	local parent
	rm -rf "$work/out"
	mkdir "$work/out"
	ASPROF_AGENT_ENGINE=$1 ASPROF_AGENT_LIB=${ASPROF_TEST_LIB:-} ASPROF_AGENT_START_DELAY=20ms \
		ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_LOCAL_DIR=$work/out \
		LD_PRELOAD=$preload "$work/forks" "$work/out/*.jfr" >"$work/said" 2>&1 &
	parent=$!
	wait "$parent" || fail "$1: $(cat "$work/said")"
	! grep -aq 'libm\.so' "$work"/out/*_"$parent"_*.jfr || fail "$1: a child wrote into its parent's recording"
}

forks builtin
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "only with the builtin engine: ASPROF_TEST_LIB is not set"
for _ in 1 2 3; do
	forks async-profiler
done
echo ok
