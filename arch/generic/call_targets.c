/* Fallback for processors whose calls and stubs are not decoded: no target is known. */
#include "arch/code.h"

bool arch_call_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t before)
{
	(void)from;
	(void)target;
	(void)pc;
	(void)before;
	return false;
}

bool arch_stub_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t after)
{
	(void)from;
	(void)target;
	(void)pc;
	(void)after;
	return false;
}

bool arch_jumps_to(const uint8_t *pc, size_t bytes, uintptr_t from, uintptr_t target)
{
	(void)pc;
	(void)bytes;
	(void)from;
	(void)target;
	return false;
}
