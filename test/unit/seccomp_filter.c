/* preload/interpose/seccomp_filter: the worst that a filter does with a call, whatever its arguments; and what the
 * kernel does by the same filter. */
#include "preload/interpose/seccomp_filter.c"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fixtures/suite.h"
#include "test/programs/filter.h"

#define ARGUMENT BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]))
#define ARCH     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch))

#define IF(op, value, yes, no) BPF_JUMP(BPF_JMP | BPF_##op | BPF_K, value, yes, no)
#define RETURN(action)         BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW                  RETURN(SECCOMP_RET_ALLOW)
#define REFUSE                 RETURN(SECCOMP_RET_ERRNO | 71)

#define MOST 12

static const struct {
	const char *name;
	struct sock_filter code[MOST];
	size_t count;
	uint32_t getpid, getppid; /* what comes of these */
} cases[] = {
	{ "all", { ALLOW }, 1, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW },
	{ "one",
	  { LOAD_NUMBER, IF(JEQ, SYS_getpid, 0, 1), REFUSE, ALLOW },
	  4,
	  SECCOMP_RET_ERRNO,
	  SECCOMP_RET_ALLOW },
	{ "all but one",
	  { LOAD_NUMBER, IF(JEQ, SYS_getpid, 1, 0), REFUSE, ALLOW },
	  4,
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ERRNO },
	{ "from one on",
	  { LOAD_NUMBER, IF(JGE, SYS_getppid, 0, 1), REFUSE, ALLOW },
	  4,
	  SYS_getpid >= SYS_getppid ? SECCOMP_RET_ERRNO : SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ERRNO },
	{ "behind one",
	  { LOAD_NUMBER, IF(JGT, SYS_getpid, 0, 1), REFUSE, ALLOW },
	  4,
	  SECCOMP_RET_ALLOW,
	  SYS_getppid > SYS_getpid ? SECCOMP_RET_ERRNO : SECCOMP_RET_ALLOW },
	{ "bits",
	  { LOAD_NUMBER, BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff), IF(JEQ, SYS_getpid, 0, 1),
	    REFUSE, ALLOW },
	  5,
	  SECCOMP_RET_ERRNO,
	  SECCOMP_RET_ALLOW },
	{ "bits set",
	  { LOAD_NUMBER, IF(JSET, 0x80000000, 0, 1), REFUSE, ALLOW },
	  4,
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ALLOW },
	{ "this processor",
	  { ARCH, IF(JEQ, 1, 0, 1), REFUSE, LOAD_NUMBER, IF(JEQ, SYS_getppid, 0, 1), REFUSE,
	    ALLOW },
	  7,
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ERRNO },
	{ "a jump over what refuses",
	  { BPF_STMT(BPF_JMP | BPF_JA, 1), REFUSE, ALLOW },
	  3,
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ALLOW },
	{ "the accumulator",
	  { BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ERRNO | 71), BPF_STMT(BPF_RET | BPF_A, 0) },
	  2,
	  SECCOMP_RET_ERRNO,
	  SECCOMP_RET_ERRNO },
};

/* What is refused for some arguments alone: the kernel would have to be asked with all of them. */
static const struct {
	const char *name;
	struct sock_filter code[MOST];
	size_t count;
	uint32_t getpid, getppid;
} by_arguments[] = {
	{ "an argument",
	  { LOAD_NUMBER, IF(JEQ, SYS_getpid, 0, 3), ARGUMENT, IF(JEQ, 7, 0, 1),
	    RETURN(SECCOMP_RET_TRAP), ALLOW },
	  6,
	  SECCOMP_RET_TRAP,
	  SECCOMP_RET_ALLOW },
	{ "an argument, and then the number again",
	  { ARGUMENT, IF(JEQ, 7, 0, 1), RETURN(SECCOMP_RET_LOG), LOAD_NUMBER,
	    IF(JEQ, SYS_getpid, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS), ALLOW },
	  7,
	  SECCOMP_RET_KILL_PROCESS,
	  SECCOMP_RET_LOG },
	{ "the number on one way, an argument on the other",
	  { LOAD_NUMBER, IF(JEQ, SYS_getpid, 0, 1), ARGUMENT, IF(JEQ, SYS_getppid, 0, 1), REFUSE,
	    ALLOW },
	  6,
	  SECCOMP_RET_ERRNO,
	  SECCOMP_RET_ERRNO },
	{ "what is not known is what is returned",
	  { ARGUMENT, BPF_STMT(BPF_RET | BPF_A, 0) },
	  2,
	  SECCOMP_RET_KILL_PROCESS,
	  SECCOMP_RET_KILL_PROCESS },
	{ "by way of memory",
	  { LOAD_NUMBER, BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_LD | BPF_MEM, 0),
	    IF(JEQ, SYS_getpid, 0, 1), REFUSE, ALLOW },
	  6,
	  SECCOMP_RET_ERRNO,
	  SECCOMP_RET_ERRNO },
	{ "the order of actions",
	  { ARGUMENT, IF(JEQ, 7, 0, 1), RETURN(SECCOMP_RET_KILL_THREAD), IF(JEQ, 8, 0, 1),
	    RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_TRAP) },
	  6,
	  SECCOMP_RET_KILL_PROCESS,
	  SECCOMP_RET_KILL_PROCESS },
};

static struct filter_step steps[BPF_MAXINSNS];

static void check_case(const char *name, const struct sock_filter *code, size_t count,
		       uint32_t getpid_action, uint32_t getppid_action)
{
	ck_assert_msg(seccomp_filter_action(code, count, steps, SYS_getpid) == getpid_action,
		      "%s: getpid", name);
	ck_assert_msg(seccomp_filter_action(code, count, steps, SYS_getppid) == getppid_action,
		      "%s: getppid", name);
}

START_TEST(the_worst_is_found)
{
	check_case(cases[_i].name, cases[_i].code, cases[_i].count, cases[_i].getpid,
		   cases[_i].getppid);
}
END_TEST

START_TEST(the_worst_of_any_arguments_is_found)
{
	check_case(by_arguments[_i].name, by_arguments[_i].code, by_arguments[_i].count,
		   by_arguments[_i].getpid, by_arguments[_i].getppid);
}
END_TEST

static bool is_refused(long number)
{
	return syscall(number) < 0 && errno == 71;
}

START_TEST(the_kernel_does_the_same)
{
	struct sock_fprog program = { (unsigned short)cases[_i].count,
				      (struct sock_filter *)(uintptr_t)cases[_i].code };
	pid_t child;
	int status;

	if (seccomp_filter_action(cases[_i].code, cases[_i].count, steps, SYS_exit_group) !=
	    SECCOMP_RET_ALLOW)
		return; /* it could not even end */
	child = fork();
	if (!child) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(77);
		if (is_refused(SYS_getpid) != (cases[_i].getpid != SECCOMP_RET_ALLOW) ||
		    is_refused(SYS_getppid) != (cases[_i].getppid != SECCOMP_RET_ALLOW))
			_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return; /* no seccomp here */
	ck_assert_msg(!status, "%s", cases[_i].name);
}
END_TEST

/* As long as a filter may be, of jumps that say nothing. */
START_TEST(the_longest_is_gone_through)
{
	static struct sock_filter code[BPF_MAXINSNS];

	for (size_t i = 0; i + 1 < BPF_MAXINSNS; i++)
		code[i] = (struct sock_filter)ARGUMENT;
	code[BPF_MAXINSNS - 1] = (struct sock_filter)RETURN(SECCOMP_RET_TRAP);
	ck_assert_uint_eq(seccomp_filter_action(code, BPF_MAXINSNS, steps, SYS_getpid),
			  SECCOMP_RET_TRAP);
}
END_TEST

/* The kernel takes none of these; nothing is read beyond them. */
START_TEST(damaged_ones_do_no_harm)
{
	const struct sock_filter far[] = { LOAD_NUMBER, IF(JEQ, SYS_getpid, 200, 255),
					   BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff) };

	ck_assert_uint_eq(seccomp_filter_action(far, 3, steps, SYS_getpid), SECCOMP_RET_ALLOW);
	ck_assert_uint_eq(seccomp_filter_action(far, 0, steps, SYS_getpid), SECCOMP_RET_ALLOW);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, the_worst_is_found, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(tests, the_worst_of_any_arguments_is_found, 0,
			    sizeof(by_arguments) / sizeof(*by_arguments));
	tcase_add_loop_test(tests, the_kernel_does_the_same, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tests, the_longest_is_gone_through);
	tcase_add_test(tests, damaged_ones_do_no_harm);
	return suite_run(tests);
}
