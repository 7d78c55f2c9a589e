/* Registers of a thread that a tracer has stopped in a system call. */
#include "arch/remote.h"

#include <errno.h>
#include <sys/syscall.h>

#include "test/fixtures/suite.h"

#ifdef __x86_64__

#include <stddef.h>
#include <sys/user.h>

#define REGISTER(name) (offsetof(struct user_regs_struct, name) / sizeof(unsigned long))
#define AFTER_CALL     0x1000ul

static struct remote_registers stopped_in(long number, long result)
{
	struct remote_registers registers = { 0 };

	registers.words[REGISTER(rip)] = AFTER_CALL;
	registers.words[REGISTER(orig_rax)] = (unsigned long)number;
	registers.words[REGISTER(rax)] = (unsigned long)result;
	return registers;
}

START_TEST(makes_an_interrupted_call_again)
{
	struct remote_registers registers = stopped_in(SYS_epoll_wait, -EINTR);

	remote_restart_call(&registers);
	ck_assert_uint_eq(registers.words[REGISTER(rip)], AFTER_CALL - 2);
	ck_assert_int_eq((long)registers.words[REGISTER(rax)], SYS_epoll_wait);
}
END_TEST

/* Its descriptor may belong to another file already. */
START_TEST(does_not_close_twice)
{
	struct remote_registers registers = stopped_in(SYS_close, -EINTR);

	remote_continue_call(&registers);
	remote_restart_call(&registers);
	ck_assert(!remote_end_call(&registers));
	ck_assert_int_eq((long)registers.words[REGISTER(rax)], -EINTR);
	ck_assert_uint_eq(registers.words[REGISTER(rip)], AFTER_CALL);
}
END_TEST

#endif

int main(void)
{
	TCase *tcase = tcase_create("remote_frame");

#ifdef __x86_64__
	tcase_add_test(tcase, makes_an_interrupted_call_again);
	tcase_add_test(tcase, does_not_close_twice);
#endif
	return suite_run(tcase);
}
