#!/bin/bash
# A child can use the dynamic loader at whatever time it was forked: also while the agent loads async-profiler, or
# while the engine asks the loader for the libraries. The parent's reports have no samples of the child. A child whose
# parent had a thread in the loader can wait, and call what we replace, for the first time. With a module that was loaded
# later, and a C library that lacks functions, it can start a helper by clone(2).
. "$(dirname "$0")/agent.inc"
. test/system/lacking.inc

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

cat >"$work/first_calls.c" <<'C'
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/check.h"

static const struct timespec a_moment = { .tv_nsec = 1000000 };
static int in_loader[2];

/* The thread keeps the loader's lock until the process ends. */
static int stays(struct dl_phdr_info *info, size_t size, void *data)
{
	CHECK(write(in_loader[1], "", 1) == 1);
	for (;;)
		pause();
}

static void *enters_loader(void *unused)
{
	dl_iterate_phdr(stays, NULL);
	return unused;
}

static void do_nanosleep(void) { CHECK(!nanosleep(&a_moment, NULL)); }
static void do_clock_nanosleep(void) { CHECK(!clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL)); }
static void do_usleep(void) { CHECK(!usleep(1000)); }
static void do_poll(void) { CHECK(!poll(NULL, 0, 1)); }
static void do_select(void) { CHECK(!select(0, NULL, NULL, NULL, &(struct timeval){ .tv_usec = 1000 })); }
static void do_epoll_wait(void) { CHECK(!epoll_wait(epoll_create1(0), &(struct epoll_event){ 0 }, 1, 1)); }
static void do_sigtimedwait(void) { CHECK(sigtimedwait(&(sigset_t){ 0 }, NULL, &a_moment) == -1); }

static void do_sem_timedwait(void)
{
	sem_t semaphore;

	CHECK(!sem_init(&semaphore, 0, 0) && sem_timedwait(&semaphore, &a_moment) == -1);
}

static void do_receive(void)
{
	int pair[2];
	char byte;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_usec = 1000 }, sizeof(struct timeval)));
	CHECK(recv(pair[0], &byte, 1, 0) == -1 && read(pair[0], &byte, 1) == -1);
	CHECK(send(pair[0], "", 1, 0) == 1 && write(pair[0], "", 1) == 1);
}

static void do_stream(void)
{
	FILE *stream = fopen("/dev/null", "r");

	CHECK(stream && getc(stream) == EOF && !fclose(stream));
}

static void do_memory(void)
{
	void *volatile p = calloc(3, 1000);

	p = realloc(p, 100000);
	CHECK(p);
	free(p);
}

static void do_action(void) { CHECK(!sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL)); }
static int run_helper(void *unused) { (void)unused; _exit(0); }

static void do_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int flags = CLONE_VM | CLONE_VFORK | SIGCHLD, status;

	CHECK(waitpid(clone(run_helper, stack + sizeof(stack), flags, NULL), &status, 0) > 0 && !status);
}

static void do_exec(void) { execl("/bin/true", "true", NULL); }
static void do_exit(void) { exit(0); }

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
#define CALL(name) { #name, do_##name }
	CALL(nanosleep), CALL(clock_nanosleep), CALL(usleep), CALL(poll), CALL(select), CALL(epoll_wait),
	CALL(sigtimedwait), CALL(sem_timedwait), CALL(receive), CALL(stream), CALL(memory), CALL(action),
	CALL(clone), CALL(exec), CALL(exit),
};

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;
	int status, failures = 0;

	CHECK(argc == 1 || dlopen(argv[1], RTLD_NOW));
	CHECK(!pipe(in_loader) && !pthread_create(&thread, NULL, enters_loader, NULL));
	CHECK(read(in_loader[0], &byte, 1) == 1);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		pid_t child = fork();

		if (!child) {
			alarm(10);
			calls[i].call();
			_exit(0);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		if (status && ++failures)
			printf("%s: status %#x\n", calls[i].name, status);
	}
	/* (exit(3) would wait for the thread.) */
	fflush(stdout);
	_exit(failures);
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -pthread -I. -o "$work/first_calls" "$work/first_calls.c" -ldl || exit 1

# first_calls WHAT VARIABLE=value...
first_calls() {
	env "${@:2}" "$work/first_calls" >"$work/said" 2>&1 || fail "first calls of a child, $1: $(cat "$work/said")"
}

first_calls bare
first_calls "in the start delay" "LD_PRELOAD=$preload"
for fork in on off; do
	first_calls "FORK=$fork" "LD_PRELOAD=$preload" ASPROF_AGENT_LOCAL_DIR="$work/of_first_calls" \
		ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_NATIVE_MEM=4k ASPROF_AGENT_FORK=$fork ASPROF_AGENT_ENGINE=builtin
done

# lacking_first_calls VARIABLE=value...: without the newest functions that we replace.
lacking_first_calls() {
	env LD_LIBRARY_PATH="$work/lacking" "$@" "$work/first_calls" "$work/late.so" >"$work/said" 2>&1 ||
		fail "first calls of a child with an older C library, $*: $(cat "$work/said")"
}

libc=$(ldd "$work/first_calls" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
if [ -e "$libc" ] && command -v python3 >/dev/null && command -v readelf >/dev/null; then
	mkdir "$work/lacking"
	entries "$libc" | awk '$2 == "_Fork" || $2 == "epoll_pwait2" { print $1 }' |
		without "$libc" "$work/lacking/libc.so.6" || exit 1
	printf 'int anything;' | ${CC:-cc} -shared -fPIC -o "$work/late.so" -x c - || exit 1
	lacking_first_calls
	lacking_first_calls "LD_PRELOAD=$preload" ASPROF_AGENT_LOCAL_DIR="$work/of_first_calls" \
		ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_ENGINE=builtin
fi

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
