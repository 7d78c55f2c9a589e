/* arch_call_number(): the number of a system call that a signal has ended, from code as compilers make it. */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "test/fixtures/suite.h"

#ifdef __x86_64__

#include "arch/code.h"
#include "engine/reading/memory_reader.h"

/* Each function makes pause(2), which is number 34. */
#define FUNCTION(name, code)                                                          \
	void name(void);                                                              \
	__asm__(".pushsection .text\n.balign 16\n.globl " #name "\n" #name ":\n" code \
		"\n.popsection\n")

FUNCTION(constant, "mov $34, %eax\n syscall\n ret");
FUNCTION(constant_earlier,
	 "mov $34, %eax\n mov 8(%rsp), %edi\n lea 8(%rsi), %rdx\n movdqu (%rsp), %xmm0\n"
	 "syscall\n ret");
FUNCTION(in_preserved_register,
	 "push %rbx\n mov $34, %ebx\n test %ebx, %ebx\n je 1f\n mov %rbx, %rax\n syscall\n"
	 "1: pop %rbx\n ret");

/* syscall(2) of glibc. */
FUNCTION(by_number, "endbr64\n mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n "
		    "mov %r8, %r10\n"
		    "mov %r9, %r8\n mov 8(%rsp), %r9\n syscall\n ret");
FUNCTION(by_caller, "push %rbx\n mov $34, %edi\n xor %esi, %esi\n push $0\n call by_number\n pop "
		    "%rcx\n pop %rbx\n ret");
FUNCTION(stub, "jmp by_number\n .balign 16");
FUNCTION(by_stub, "mov $34, %edi\n call stub\n ret");
FUNCTION(by_address, "mov $34, %edi\n call *address(%rip)\n ret\n"
		     ".pushsection .data\n address: .quad by_number\n .popsection");
FUNCTION(linker_stub, "endbr64\n .byte 0xf2; jmp *address(%rip)\n .balign 16");
FUNCTION(by_linker_stub, "mov $34, %edi\n call linker_stub\n ret");

/* syscall(2) of musl. */
FUNCTION(with_frame, "sub $0x58, %rsp\n mov %rdi, %rax\n mov %r8, %r10\n mov %rsi, 0x28(%rsp)\n "
		     "lea 0x60(%rsp), %rsi\n"
		     "mov %rsi, 8(%rsp)\n mov %fs:0x28, %rdx\n movl $8, (%rsp)\n syscall\n add "
		     "$0x58, %rsp\n ret");
FUNCTION(by_frame, "mov $34, %edi\n call with_frame\n ret");

/* Both libraries' function that pthread_cancel(3) ends. */
FUNCTION(cancelled,
	 "mov (%rdi), %eax\n test %eax, %eax\n jne 1f\n mov %rdi, %r11\n mov %rsi, %rax\n mov "
	 "%rdx, %rdi\n"
	 "mov %rcx, %rsi\n mov %r8, %rdx\n mov %r9, %r10\n mov 8(%rsp), %r8\n mov 16(%rsp), %r9\n"
	 "mov %r11, 8(%rsp)\n syscall\n 1: ret\n .pushsection .data\n zero: .quad 0\n .popsection");
/* musl's caller of it. */
FUNCTION(number_in_register,
	 "push %r12\n mov %rdi, %r12\n cmp $3, %rdi\n je 1f\n push 0x18(%rsp)\n lea zero(%rip), "
	 "%rdi\n"
	 "mov %r12, %rsi\n push %r9\n mov %r8, %r9\n call cancelled\n pop %rdx\n pop %rcx\n"
	 "1: pop %r12\n ret");
FUNCTION(by_musl, "push $0\n xor %r9d, %r9d\n mov $34, %edi\n push %rbx\n call "
		  "number_in_register\n pop %rbx\n pop %rcx\n ret");
/* glibc's callers of it. */
FUNCTION(number_on_stack, "push %rbx\n push %r9\n lea zero(%rip), %r11\n push %r8\n mov "
			  "0x20(%rsp), %rsi\n mov %rdx, %r8\n"
			  "mov %r11, %rdi\n call cancelled\n pop %rcx\n pop %rsi\n pop %rbx\n ret");
FUNCTION(pass_number,
	 "sub $0x10, %rsp\n push 0x18(%rsp)\n call number_on_stack\n add $0x18, %rsp\n ret");
FUNCTION(by_glibc, "sub $8, %rsp\n push $34\n call pass_number\n add $16, %rsp\n ret");
FUNCTION(by_frame_pointer,
	 "push %rbp\n mov %rsp, %rbp\n sub $16, %rsp\n movl $34, -4(%rbp)\n mov -4(%rbp), %eax\n"
	 "syscall\n leave\n ret");

/* "mov $8, %r8d" after its prefix looks like "mov $8, %eax". */
FUNCTION(other_constant_last, "mov $34, %eax\n xor %r10d, %r10d\n mov $8, %r8d\n syscall\n ret");

/* Not certain. */
FUNCTION(computed, "mov $33, %eax\n add $1, %eax\n syscall\n ret");
FUNCTION(one_of_two, "mov $34, %eax\n test %rsp, %rsp\n jne 1f\n mov $35, %eax\n 1: xor %esi, "
		     "%esi\n syscall\n ret");
FUNCTION(merged,
	 "test %rsp, %rsp\n je 1f\n mov $34, %eax\n jmp 2f\n 1: mov $35, %eax\n 2: syscall\n ret");
FUNCTION(from_far, "mov $34, %eax\n jmp 1f\n .skip 900, 0x90\n mov $35, %eax\n 1: xor %esi, %esi\n "
		   "syscall\n ret");
FUNCTION(from_behind,
	 "jmp 2f\n mov $35, %eax\n 1: xor %esi, %esi\n syscall\n ret\n 2: mov $34, %eax\n jmp 1b");
FUNCTION(by_pointer, "mov $34, %edi\n lea by_number(%rip), %rax\n call *%rax\n ret");
FUNCTION(nothing, "ret");
FUNCTION(after_call, "mov $34, %eax\n call nothing\n syscall\n ret");

static const struct {
	void (*call)(void);
	long number;
} cases[] = {
	{ constant, 34 },   { constant_earlier, 34 }, { in_preserved_register, 34 },
	{ by_caller, 34 },  { by_stub, 34 },          { by_address, 34 },
	{ by_frame, 34 },   { by_linker_stub, 34 },   { by_musl, 34 },
	{ by_glibc, 34 },   { by_frame_pointer, 34 }, { computed, -1 },
	{ one_of_two, -1 }, { from_far, -1 },         { from_behind, -1 },
	{ by_pointer, -1 }, { after_call, -1 },       { other_constant_last, 34 },
	{ merged, -1 },
};

static long number;

static void on_signal(int signo, siginfo_t *info, void *interrupted)
{
	const ucontext_t *context = interrupted;

	(void)signo;
	(void)info;
	if (context->uc_mcontext.gregs[REG_RAX] == -EINTR)
		number = arch_call_number(context, memory_copy);
}

START_TEST(test_call_number)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	static const struct itimerval soon = { { 0, 10000 }, { 0, 10000 } };

	number = -2;
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
	cases[_i].call();
	ck_assert_int_eq(number, cases[_i].number);
}
END_TEST

#endif

int main(void)
{
	TCase *tcase = tcase_create("call_number");

#ifdef __x86_64__
	tcase_add_loop_test(tcase, test_call_number, 0, sizeof(cases) / sizeof(*cases));
#endif
	return suite_run(tcase);
}
