/* The image, as it lies in memory: its text is run where it is, its data are mapped anew and filled from a
 * copy that nobody writes to. All of it stands among the text, so that the loader maps it as it is to be. */
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
