/* Finds the code that contexts return to by making one. */
#include "engine/cfi/context_start.h"

#include <string.h>
#include <ucontext.h>

/* Not in every C library. */
extern __typeof(makecontext) makecontext __attribute__((weak));
extern __typeof(getcontext) getcontext __attribute__((weak));

static void never_called(void)
{
}

uintptr_t context_start(void)
{
	_Alignas(16) char stack[1024];
	ucontext_t context;
	uintptr_t address;

	if (!makecontext || !getcontext || getcontext(&context))
		return 0;
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = NULL;
	makecontext(&context, never_called, 0);
#if defined(__x86_64__)
	memcpy(&address, (void *)context.uc_mcontext.gregs[REG_RSP], sizeof(address));
#else
	address = context.uc_mcontext.regs[30];
#endif
	return address;
}
