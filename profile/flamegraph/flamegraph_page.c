/* The flame graph page, embedded by the assembler. */
#include "profile/flamegraph/flamegraph_page.h"

__asm__(".pushsection .rodata.flamegraph_page, \"a\"\n"
	".globl flamegraph_page\n"
	".hidden flamegraph_page\n"
	"flamegraph_page:\n"
	".incbin \"profile/flamegraph/flamegraph.html\"\n"
	".byte 0\n"
	".popsection\n");
