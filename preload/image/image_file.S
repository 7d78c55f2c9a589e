/* The image, as it lies in memory: its text is made executable where it is, its data are mapped anew and
 * filled from a copy that nobody writes to. */
#include "image/layout.h"

	.section .image, "a", %progbits
	.balign	IMAGE_PAGE
	.globl	image_memory
	.hidden	image_memory
image_memory:
	.incbin	"agent.flat"
	.balign	IMAGE_PAGE

	.section .image.data, "a", %progbits
	.balign	16
	.globl	image_data
	.hidden	image_data
image_data:
	.incbin	"agent.data"

	.section .note.GNU-stack, "", %progbits
