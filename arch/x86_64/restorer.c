/* x86-64: the code that signal handlers return to. */
#include "arch/code.h"

/* Source: linux/arch/x86/include/uapi/asm/signal.h. The kernel requires it for a handler. */
#define RESTORER 0x04000000ul

extern const char disposition_return[] __attribute__((visibility("hidden")));

/* Code that handlers return to. Debuggers and unwinders recognize it by these instructions. Its unwind information
 * begins one byte earlier. The interrupted thread's registers are in the context at rsp, from offset 40 on. */
__asm__(".pushsection .text\n"
	"	.macro saved number, offset\n"
	"	.cfi_escape 0x10, \\number, 3, 0x77, (\\offset & 127) | 128, \\offset >> 7\n"
	"	.endm\n"
	"	.balign 16\n"
	"	.globl disposition_return\n"
	"	.hidden disposition_return\n"
	"	.type disposition_return, @function\n"
	"	.cfi_startproc\n"
	"	.cfi_signal_frame\n"
	"	.cfi_escape 0x0f, 4, 0x77, (160 & 127) | 128, 160 >> 7, 0x06\n" /* rsp */
	"	saved 8, 40\n"
	"	saved 9, 48\n"
	"	saved 10, 56\n"
	"	saved 11, 64\n"
	"	saved 12, 72\n"
	"	saved 13, 80\n"
	"	saved 14, 88\n"
	"	saved 15, 96\n"
	"	saved 5, 104\n"  /* rdi */
	"	saved 4, 112\n"  /* rsi */
	"	saved 6, 120\n"  /* rbp */
	"	saved 3, 128\n"  /* rbx */
	"	saved 1, 136\n"  /* rdx */
	"	saved 0, 144\n"  /* rax */
	"	saved 2, 152\n"  /* rcx */
	"	saved 7, 160\n"  /* rsp */
	"	saved 16, 168\n" /* rip */
	"	nop\n"
	"disposition_return:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	"	.cfi_endproc\n"
	"	.size disposition_return, . - disposition_return\n"
	"	.purgem saved\n"
	"	.popsection\n");

void arch_set_restorer(unsigned long *flags, void **restorer)
{
	*flags |= RESTORER;
	*restorer = (void *)(uintptr_t)disposition_return;
}
