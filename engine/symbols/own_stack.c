/* A deep call on a stack of its own. Not makecontext(3): it costs system calls, and a C library
 * without it would refuse to load us. */
#include "engine/symbols/own_stack.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int own_stack_map(struct own_stack *stack, size_t size)
{
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	char *base;

	size = (size + 2 * guard - 1) & ~(guard - 1);
	base = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	if (mprotect(base, guard, PROT_NONE)) {
		int err = -errno;

		munmap(base, size);
		return err;
	}
	stack->base = base;
	stack->size = size;
	return 0;
}

void own_stack_unmap(struct own_stack *stack)
{
	if (stack->size)
		munmap(stack->base, stack->size);
	stack->base = NULL;
	stack->size = 0;
}

/* The old stack pointer waits in a register that the callee preserves. */
void own_stack_call(const struct own_stack *stack, void (*function)(void *), void *argument)
{
	char *top = stack->base + stack->size;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[top], %%rsp\n\t"
			 "callq *%[function]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(argument), [function] "+a"(function), [top] "+S"(top)
			 :
			 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
	register void *x0 __asm__("x0") = argument;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %[top]\n\t"
			 "blr %[function]\n\t"
			 "mov sp, x19"
			 : "+r"(x0)
			 : [function] "r"(function), [top] "r"(top)
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x30", "memory", "cc",
			   "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
			   "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
			   "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#else
#error "no way known to another stack on this processor"
#endif
}
