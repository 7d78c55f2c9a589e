/* The image, as in memory: its text runs where it is; its data is mapped again and filled from a read-only copy. All of
 * it is in the text, so that the dynamic linker maps it in this layout. */
#include "image/layout.h"

	.section .text.image, "ax", %progbits
	.balign	IMAGE_PAGE
	.globl	image_memory
	.hidden	image_memory
image_memory:
	.incbin	"agent.flat"
	.balign	IMAGE_PAGE

	.section .rodata.image_data, "a", %progbits
	.balign	16
	.globl	image_data
	.hidden	image_data
image_data:
	.incbin	"agent.data"

	.section .note.GNU-stack, "", %progbits
