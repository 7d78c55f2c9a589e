/* Works in before(), enters a seccomp sandbox, and works in inside(), in the thread that it has had, too; then it
 * prints "worked" and ends with status 4.
 * Usage: stays prctl|threads ACTION CALL...   ACTION (kill errno trap trace notify log) where one of these is called,
 *                                             all the agent's that it can do without for "errors", all else is allowed
 *        stays prctl|threads only             what the agent calls, to write, and to end; anything else kills
 *        stays asks                           no sandbox, but a look whether there could be one */
#include <linux/audit.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "preload/interpose/sandbox_calls.h"
#include "test/programs/check.h"
#include "test/programs/filter.h"

#define WORK_MS 200

static const struct call {
	const char *name;
	unsigned int number;
	int must;
} calls[] = {
#define MUST(call) { #call, SYS_##call, 1 },
#define MAY(call)  { #call, SYS_##call, 0 },
	SANDBOX_CALLS_OF_PROGRAM(MUST, MAY) SANDBOX_CALLS_OF_AGENT(MUST, MAY)
};

#define CALLS (sizeof(calls) / sizeof(*calls))

static const struct {
	const char *name;
	unsigned int action;
} actions[] = { { "kill", SECCOMP_RET_KILL_PROCESS },
		{ "errno", SECCOMP_RET_ERRNO | EPERM },
		{ "trap", SECCOMP_RET_TRAP },
		{ "trace", SECCOMP_RET_TRACE },
		{ "notify", 0x7fc00000U },
		{ "log", SECCOMP_RET_LOG } };

static struct sock_filter filter[4 * CALLS];
static struct sock_fprog program = { .filter = filter };
static atomic_int has_begun, is_internal, is_done;

static void add(struct sock_filter instruction)
{
	filter[program.len++] = instruction;
}

static void add_call(unsigned int number, unsigned int action)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static unsigned int action_named(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(actions[i].name, name))
			return actions[i].action;
	CHECK(!"action");
	return 0;
}

static void add_named(const char *name, unsigned int action)
{
	for (size_t i = 0; i < CALLS; i++)
		if (!strcmp(calls[i].name, name) ||
		    (!strcmp(name, "errors") && !calls[i].must && calls[i].number != SYS_write))
			add_call(calls[i].number, action);
}

static void make_filter(char **words)
{
	add((struct sock_filter)LOAD_NUMBER);
	if (strcmp(words[0], "only") != 0) {
		for (char **name = words + 1; *name; name++)
			add_named(*name, action_named(words[0]));
		add((struct sock_filter)OTHERWISE(SECCOMP_RET_ALLOW));
		return;
	}
	for (size_t i = 0; i < CALLS; i++)
		add_call(calls[i].number, SECCOMP_RET_ALLOW);
	add_call(SYS_exit_group, SECCOMP_RET_ALLOW);
	add((struct sock_filter)OTHERWISE(SECCOMP_RET_KILL_PROCESS));
}

static unsigned long rounds; /* that take WORK_MS of processor time */

static void spin(unsigned long count)
{
	for (volatile unsigned long i = 0; i < count; i++)
		;
}

__attribute__((noinline)) static void before(void)
{
	clock_t end = clock() + WORK_MS * CLOCKS_PER_SEC / 1000;

	for (; clock() < end; rounds += 10000)
		spin(10000);
	atomic_signal_fence(memory_order_seq_cst); /* no jump, but a call */
}

/* Without a system call. */
__attribute__((noinline)) static void inside(void)
{
	spin(rounds);
	atomic_signal_fence(memory_order_seq_cst);
}

static void *in_thread(void *unused)
{
	atomic_store(&has_begun, 1);
	while (!atomic_load(&is_internal))
		spin(1000);
	inside();
	atomic_store(&is_done, 1);
	for (;;)
		spin(1000);
	return unused;
}

static void enter(const char *how)
{
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!strcmp(how, "prctl"))
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else if (!strcmp(how, "threads"))
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			       &program));
	else
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) && errno == EFAULT &&
		      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) && errno == EFAULT);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	CHECK(argc > 1);
	if (argc > 2)
		make_filter(argv + 2);
	before();
	CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
	/* (What the C library calls on a thread's way there must not fail.) */
	while (!atomic_load(&has_begun))
		spin(1000);
	enter(argv[1]);
	atomic_store(&is_internal, 1);
	inside();
	while (!atomic_load(&is_done))
		spin(1000);
	return write(STDOUT_FILENO, "worked\n", 7) == 7 ? 4 : 5;
}
