/* Finds the return address of new contexts by making one. */
#include "engine/cfi/context_start.h"

#include <stddef.h>
#include <ucontext.h>

#include "arch/arch.h"

/* Missing in some C libraries. */
extern __typeof(makecontext) makecontext __attribute__((weak));
extern __typeof(getcontext) getcontext __attribute__((weak));

static void never_called(void)
{
}

uintptr_t context_start(void)
{
	_Alignas(16) char stack[1024];
	ucontext_t context;

	if (!makecontext || !getcontext || getcontext(&context))
		return 0;
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = NULL;
	makecontext(&context, never_called, 0);
	return CONTEXT_CALLER(&context);
}
