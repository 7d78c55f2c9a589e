/* x86-64: see arch/attached.h. */
#include "arch/attached.h"

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "arch/arch.h"

/* AT_HWCAP2: user code may read and write the base of fs. Source: linux/arch/x86/include/uapi/asm/hwcap2.h. */
#define HWCAP2_FSGSBASE 2

/* The kernel starts a program with all registers 0, except the stack pointer. */
__asm__(".pushsection .text\n"
	"	.balign 16\n"
	"	.globl attach_entry, attach_hold\n"
	"	.hidden attach_entry, attach_hold\n"
	"	.type attach_entry, @function\n"
	"	.type attach_hold, @function\n"
	"attach_entry:\n"
	"	syscall\n"
	"	jmp 3f\n"
	"	.balign 16\n"
	"attach_hold:\n"
	"	cmpl $0, (%r12)\n"
	"	jne 1f\n"
	"	mov %r12, %rdi\n"
	"	mov $128, %esi\n" /* FUTEX_WAIT_PRIVATE */
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	mov $202, %eax\n" /* futex */
	"	syscall\n"
	"	jmp attach_hold\n"
	"1:	mov $2, %edi\n" /* SIG_SETMASK */
	"	mov %r15, %rsi\n"
	"	xor %edx, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $14, %eax\n" /* rt_sigprocmask */
	"	syscall\n"
	"	mov %r13, %rsp\n"
	"	push %r14\n"
	"	.irp name, eax, ebx, ecx, edx, esi, edi, ebp, r8d, r9d, r10d, r11d, r12d, r13d, "
	"r14d, r15d\n"
	"	xor %\\name, %\\name\n"
	"	.endr\n"
	"	ret\n"
	"3:	mov %r12, %rdi\n"
	"	mov %r13, %rsi\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call attach_begin\n"
	"	hlt\n"
	"	.size attach_entry, . - attach_entry\n"
	"	.popsection\n");

uintptr_t arch_exchange_thread_pointer(uintptr_t pointer)
{
	uintptr_t before = 0;

	if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) {
		__asm__ volatile("rdfsbase %0\n\twrfsbase %1"
				 : "=&r"(before)
				 : "r"(pointer)
				 : "memory");
		return before;
	}
	kernel_call6(SYS_arch_prctl, ARCH_GET_FS, (long)&before, 0, 0, 0, 0);
	kernel_call6(SYS_arch_prctl, ARCH_SET_FS, (long)pointer, 0, 0, 0, 0);
	return before;
}

void arch_make_call(ucontext_t *context, long number)
{
	context->uc_mcontext.gregs[REG_RIP] -= ARCH_SYSTEM_CALL_BYTES;
	context->uc_mcontext.gregs[REG_RAX] = number;
}
