/* x86-64: targets of calls, jumps and stubs. */
#include "arch/code.h"

#include <string.h>

/* Return FROM plus the signed distance in the four bytes before PC. PC points to a copy of the code at FROM. */
static uintptr_t relative_to(const uint8_t *pc, uintptr_t from)
{
	int32_t distance;

	memcpy(&distance, pc - sizeof(distance), sizeof(distance));
	return from + (uintptr_t)(intptr_t)distance;
}

bool arch_call_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t before)
{
	if (before < 6)
		return false;
	target->indirect = pc[-6] == 0xff && pc[-5] == 0x15; /* call *n(%rip) */
	target->address = relative_to(pc, from);
	return target->indirect || pc[-5] == 0xe8;
}

bool arch_stub_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t after)
{
	size_t begin = after >= 4 && !memcmp(pc, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0; /* endbr64 */

	if (begin < after && pc[begin] == 0xf2) /* bnd */
		begin++;
	if (after < begin + 6 || memcmp(pc + begin, "\xff\x25", 2)) /* jmp *n(%rip) */
		return false;
	target->indirect = true;
	target->address = relative_to(pc + begin + 6, from + begin + 6);
	return true;
}

bool arch_jumps_to(const uint8_t *pc, size_t bytes, uintptr_t from, uintptr_t target)
{
	for (size_t end = 5; end <= bytes; end++)
		if (pc[end - 5] == 0xe9 && relative_to(pc + end, from + end) == target)
			return true;
	return false;
}
