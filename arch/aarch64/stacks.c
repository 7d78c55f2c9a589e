/* aarch64: functions that switch stacks. */
#include "arch/stacks.h"

#include <sys/syscall.h>

int arch_thread_start(long flags, void (*run)(void), void *stack_high, _Atomic pid_t *id)
{
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = flags;
	register uintptr_t x1 __asm__("x1") = (uintptr_t)stack_high & ~(uintptr_t)15;
	register _Atomic pid_t *x2 __asm__("x2") = id;
	register long x3 __asm__("x3") = 0;
	register _Atomic pid_t *x4 __asm__("x4") = id;
	register void (*x9)(void) __asm__("x9") = run;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "blr x9\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9)
			 : "memory");
	return x0 < 0 ? (int)x0 : 0;
}

_Noreturn void arch_thread_enter(uintptr_t entry, const uintptr_t *stack)
{
	__asm__ volatile("mov sp, %0\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, xzr\n\t"
			 "br %1"
			 :
			 : "r"(stack), "r"(entry)
			 : "x0", "memory");
	__builtin_unreachable();
}

_Noreturn void arch_thread_continue(uintptr_t thread_pointer, void (*function)(void))
{
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(thread_pointer) : "memory");
	function();
	__builtin_unreachable();
}

void arch_call_on(uintptr_t sp, void (*handler)(int signo, siginfo_t *info, void *context),
		  int signo, siginfo_t *info, void *context)
{
	register long x0 __asm__("x0") = signo;
	register siginfo_t *x1 __asm__("x1") = info;
	register void *x2 __asm__("x2") = context;
	register void (*x3)(int signo, siginfo_t *info, void *context) __asm__("x3") = handler;
	register uintptr_t x4 __asm__("x4") = sp;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, x4\n\t"
			 "blr x3\n\t"
			 "mov sp, x19"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4)
			 :
			 : "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
			   "x16", "x17", "x19", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4",
			   "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
			   "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
			   "v26", "v27", "v28", "v29", "v30", "v31");
}
