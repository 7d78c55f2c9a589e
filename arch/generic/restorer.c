/* Fallback: the kernel chooses the address that signal handlers return to. */
#include "arch/code.h"

void arch_set_restorer(unsigned long *flags, void **restorer)
{
	(void)flags;
	(void)restorer;
}
