/* The unwinder's knowledge of aarch64 code and signal frames. */
#if defined(__aarch64__)

#include <string.h>

#include "arch/code.h"

ptrdiff_t arch_register_offset(unsigned number)
{
	if (number < 31)
		return (ptrdiff_t)(offsetof(ucontext_t, uc_mcontext.regs) + number * 8);
	return number == ARCH_SP ? (ptrdiff_t)offsetof(ucontext_t, uc_mcontext.sp) : -1;
}

ptrdiff_t arch_pc_offset(void)
{
	return (ptrdiff_t)offsetof(ucontext_t, uc_mcontext.pc);
}

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* Of the stubs for calls of other modules: bti c; adrp x16,M; ldr x17,[x16,#N]; add x16,x16,#N; br x17 */
static bool is_stub_instruction(uint32_t word)
{
	return word == 0xd503245f || (word & 0x9f00001f) == 0x90000010 ||
	       (word & 0xffc003ff) == 0xf9400211 || (word & 0xffc003ff) == 0x91000210 ||
	       word == 0xd61f0220;
}

enum arch_leaf arch_leaf_at(const uint8_t *pc, size_t before, size_t after)
{
	(void)before;
	if (after < 4)
		return ARCH_LEAF_FRAME_POINTER;
	/* ret, or stp x29,x30,[sp,#-n]!, before which a frame has nothing of its own */
	if (word_at(pc) == 0xd65f03c0 || (word_at(pc) & 0xffc07fff) == 0xa9807bfd ||
	    is_stub_instruction(word_at(pc)))
		return ARCH_LEAF_RETURN_IN_LINK;
	return ARCH_LEAF_FRAME_POINTER;
}

size_t arch_epilogue(const uint8_t *pc, size_t after)
{
	/* Frames there begin with a frame record. */
	(void)pc;
	(void)after;
	return 0;
}

bool arch_is_sigreturn(const uint8_t *pc, size_t after)
{
	/* mov x8,#139; svc #0 */
	return after >= 8 && word_at(pc) == 0xd2801168 && word_at(pc + 4) == 0xd4000001;
}

bool arch_is_behind_call(const uint8_t *pc, size_t before)
{
	if (before < 4)
		return false;
	/* bl, or blr */
	return (word_at(pc - 4) & 0xfc000000) == 0x94000000 ||
	       (word_at(pc - 4) & 0xfffffc1f) == 0xd63f0000;
}

/* No call or stub of this processor is read yet, so that none is doubted. */
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

#else
typedef int unwind_aarch64_unused;
#endif
