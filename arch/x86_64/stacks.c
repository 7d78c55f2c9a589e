/* x86-64: functions that switch stacks. */
#include "arch/stacks.h"

#include <asm/prctl.h>
#include <sys/syscall.h>

#include "arch/arch.h"

int arch_thread_start(long flags, void (*run)(void), void *stack_high, _Atomic pid_t *id)
{
	uintptr_t stack = (uintptr_t)stack_high & ~(uintptr_t)15;
	register _Atomic pid_t *child_id __asm__("r10") = id;
	register long no_tls __asm__("r8") = 0;
	register void (*begin)(void) __asm__("r9") = run;
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "call *%%r9\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(id), "r"(child_id),
			   "r"(no_tls), "r"(begin)
			 : "rcx", "r11", "memory");
	return result < 0 ? (int)result : 0;
}

_Noreturn void arch_thread_enter(uintptr_t entry, const uintptr_t *stack)
{
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "xor %%edx, %%edx\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "jmp *%1"
			 :
			 : "r"(stack), "r"(entry)
			 : "rdx", "memory");
	__builtin_unreachable();
}

_Noreturn void arch_thread_continue(uintptr_t thread_pointer, void (*function)(void))
{
	kernel_call6(SYS_arch_prctl, ARCH_SET_FS, (long)thread_pointer, 0, 0, 0, 0);
	function();
	__builtin_unreachable();
}

void arch_call_on(uintptr_t sp, void (*handler)(int signo, siginfo_t *info, void *context),
		  int signo, siginfo_t *info, void *context)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[sp], %%rsp\n\t"
			 "callq *%[handler]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(signo), "+S"(info),
			   "+d"(context), [handler] "+a"(handler), [sp] "+c"(sp)
			 :
			 : "rbx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
			   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15");
}
