/* aarch64: decoding of machine code, and registers in signal frames. */
#include "arch/code.h"

#include <string.h>

#include "arch/arch.h"

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

/* Instructions of the stubs for calls of other modules: bti c; adrp x16,M; ldr x17,[x16,#N]; add x16,x16,#N; br x17 */
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
	/* ret, or stp x29,x30,[sp,#-n]!: the frame has nothing on the stack before it */
	if (word_at(pc) == 0xd65f03c0 || (word_at(pc) & 0xffc07fff) == 0xa9807bfd ||
	    is_stub_instruction(word_at(pc)))
		return ARCH_LEAF_RETURN_IN_LINK;
	return ARCH_LEAF_FRAME_POINTER;
}

size_t arch_epilogue(const uint8_t *pc, size_t after)
{
	/* Frames of this processor begin with a frame record. */
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

/* "adrp x16, page; ldr x17, [x16, #offset]", possibly after "bti c". */
bool arch_read_stub(struct arch_stub *stub, const uint8_t *code, uint64_t start)
{
	const uint8_t *at = word_at(code) == 0xd503245f ? code + 4 : code;
	uint32_t page = word_at(at), load = word_at(at + 4);
	uint64_t pages;

	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (uint64_t)(page >> 29 & 3) | (uint64_t)(page >> 5 & 0x7ffff) << 2;
	pages = (pages ^ 0x100000) - 0x100000; /* 21 bits, signed */
	start += (uint64_t)(at - code);
	stub->slot = (start & ~(uint64_t)0xfff) + (pages << 12) + (load >> 10 & 0xfff) * 8;
	return true;
}

uintptr_t arch_branch_target(const uint8_t *code, uintptr_t address)
{
	uint32_t word = word_at(code);

	if (address % 4 || (word & 0x7c000000) != 0x14000000)
		return 0;
	return address + (uintptr_t)((intptr_t)(int32_t)(word << 6) >> 4);
}

long arch_call_number(const ucontext_t *context, arch_copy *copy)
{
	(void)context;
	(void)copy;
	return -1;
}

bool arch_call_has_just_ended(const ucontext_t *context)
{
	(void)context;
	return false;
}

void arch_mark_call(ucontext_t *context)
{
	(void)context;
}
