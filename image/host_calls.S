/* Each function of the program's side under its own name: a jump through the table that the image was
 * handed. Arguments and results are as they come. */
#include "image/host_calls.h"

	.text
	.set	number, 0

#if defined(__x86_64__)
#define CALL(name)                                   \
	.globl	name;                                \
	.hidden	name;                                \
	.type	name, @function;                     \
name:	jmp	*(host_functions + 8 * number)(%rip); \
	.size	name, . - name;                      \
	.set	number, number + 1;
#elif defined(__aarch64__)
#define CALL(name)                                                  \
	.globl	name;                                               \
	.hidden	name;                                               \
	.type	name, %function;                                    \
name:	adrp	x16, host_functions;                                \
	add	x16, x16, :lo12:host_functions;                     \
	ldr	x16, [x16, 8 * number];                             \
	br	x16;                                                \
	.size	name, . - name;                                     \
	.set	number, number + 1;
#endif

HOST_CALLS(CALL)

	.section .note.GNU-stack, "", %progbits
