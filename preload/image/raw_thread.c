/* A thread that no C library knows of, and the ways from it into the image. */
#include "preload/image/raw_thread.h"

#include <sched.h>
#include <sys/syscall.h>
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include "core/kernel.h"

/* It shares all that threads do. (The descriptors as well, until its first system call: so not even for
 * an instant is there a copy of them, whose pipes would have a second holder.) */
#define FLAGS                                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

int raw_thread_start(void (*run)(void), void *stack_high, _Atomic pid_t *id)
{
	uintptr_t stack = (uintptr_t)stack_high & ~(uintptr_t)15;
	long result;

#if defined(__x86_64__)
	register _Atomic pid_t *child_id __asm__("r10") = id;
	register long no_tls __asm__("r8") = 0;
	register void (*begin)(void) __asm__("r9") = run;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "call *%%r9\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"((long)FLAGS), "S"(stack), "d"(id), "r"(child_id),
			   "r"(no_tls), "r"(begin)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = FLAGS;
	register uintptr_t x1 __asm__("x1") = stack;
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
	result = x0;
#endif
	return result < 0 ? (int)result : 0;
}

_Noreturn void raw_thread_enter(uintptr_t entry, const uintptr_t *stack)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "xor %%edx, %%edx\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "jmp *%1"
			 :
			 : "r"(stack), "r"(entry)
			 : "rdx", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov sp, %0\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, xzr\n\t"
			 "br %1"
			 :
			 : "r"(stack), "r"(entry)
			 : "x0", "memory");
#endif
	__builtin_unreachable();
}

_Noreturn void raw_thread_go_on(uintptr_t thread_pointer, void (*function)(void))
{
#if defined(__x86_64__)
	kernel_call4(SYS_arch_prctl, ARCH_SET_FS, (long)thread_pointer, 0, 0);
#elif defined(__aarch64__)
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(thread_pointer) : "memory");
#endif
	function();
	__builtin_unreachable();
}
