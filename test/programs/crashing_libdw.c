/* Replaces libdw: every function crashes, except the one that is called at load. */
#include <stdlib.h>

#include "decoder/symbolize/dwarf_library.h"

#define ALIAS(name) __asm__(".globl " #name "\n.set " #name ", crash\n");
DWARF_FUNCTIONS(ALIAS)

long crash(void);

long crash(void)
{
	static unsigned calls;

	if (calls++)
		abort();
	return 0;
}
