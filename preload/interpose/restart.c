/* System calls made again after a sample. */
#include "preload/interpose/restart.h"

#include <pthread.h>
#include <stdint.h>

#include "preload/interpose/context.h"

/* From its first instruction to the system call's own, nothing has been done that could not be
 * given up: a handler of the program that begins there has the thread go on at again_done, with
 * -EINTR in the register of results. */
long again_enter(const long *call, const unsigned long *count, unsigned long handled)
	__attribute__((visibility("hidden")));
extern const char again_enter_call[] __attribute__((visibility("hidden")));
extern const char again_enter_done[] __attribute__((visibility("hidden")));

__asm__(".pushsection .text\n"
	"	.balign 16\n"
	"	.globl again_enter, again_enter_call, again_enter_done\n"
	"	.hidden again_enter, again_enter_call, again_enter_done\n"
	"	.type again_enter, @function\n"
	"again_enter:\n"
	"	.cfi_startproc\n"
#if defined(__x86_64__)
	"	cmp (%rsi), %rdx\n"
	"	jne 1f\n"
	"	mov (%rdi), %rax\n"
	"	mov 16(%rdi), %rsi\n"
	"	mov 24(%rdi), %rdx\n"
	"	mov 32(%rdi), %r10\n"
	"	mov 40(%rdi), %r8\n"
	"	mov 48(%rdi), %r9\n"
	"	mov 8(%rdi), %rdi\n"
	"again_enter_call:\n"
	"	syscall\n"
	"again_enter_done:\n"
	"	ret\n"
	"1:	mov $-4, %rax\n"
	"	ret\n"
#elif defined(__aarch64__)
	"	ldr x3, [x1]\n"
	"	cmp x3, x2\n"
	"	b.ne 1f\n"
	"	mov x9, x0\n"
	"	ldr x8, [x9]\n"
	"	ldp x0, x1, [x9, #8]\n"
	"	ldp x2, x3, [x9, #24]\n"
	"	ldp x4, x5, [x9, #40]\n"
	"again_enter_call:\n"
	"	svc #0\n"
	"again_enter_done:\n"
	"	ret\n"
	"1:	mov x0, #-4\n"
	"	ret\n"
#endif
	"	.cfi_endproc\n"
	"	.size again_enter, . - again_enter\n"
	"	.popsection\n");

_Static_assert(EINTR == 4, "as it stands above");

void again_end(ucontext_t *context)
{
	uintptr_t first = (uintptr_t)again_enter, call = (uintptr_t)again_enter_call;

	if ((uintptr_t)CONTEXT_PC(context) - first <= call - first)
		context_return(context, (uintptr_t)again_enter_done, -EINTR);
}

/* The C library has a thread that waits in a point of cancellation cancelled at once. */
static long enter_cancellable(const long *call, unsigned long handled)
{
	long result;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	result = again_enter(call, &program_handled, handled);
	pthread_setcanceltype(type, NULL);
	return result;
}

long again_call(unsigned long handled, const long call[TRANSFER_LONGS], bool cancellable)
{
	long result;

	sample_interrupted = 0;
	result = cancellable ? enter_cancellable(call, handled)
			     : again_enter(call, &program_handled, handled);
	return result == -EINTR && sample_ended_it(SAMPLE_FRAME) ? AGAIN_SAMPLED : result;
}

long again_value(long result, int error)
{
	if (result < 0 && result >= -4095) {
		errno = (int)-result;
		return -1;
	}
	errno = error;
	return result;
}
