/* Stubs: each function of the host's side under its own name is a jump through the table from the host. Arguments and
 * results pass unchanged. */
#include "arch/jump.inc"
#include "image/host_calls.h"

	.text
	.set	number, 0

HOST_CALLS(JUMP)

	.section .note.GNU-stack, "", %progbits
