/* x86-64: decoding of machine code, and registers in signal frames. */
#include "arch/code.h"

#include <string.h>

#include "arch/arch.h"

#define OFFSET(reg) (offsetof(ucontext_t, uc_mcontext.gregs) + (reg) * sizeof(greg_t))

ptrdiff_t arch_register_offset(unsigned number)
{
	/* In DWARF's order. */
	static const uint8_t registers[ARCH_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};

	return number < ARCH_REGISTERS ? (ptrdiff_t)OFFSET(registers[number]) : -1;
}

ptrdiff_t arch_pc_offset(void)
{
	return (ptrdiff_t)OFFSET(REG_RIP);
}

static bool bytes_at(const uint8_t *p, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != (uint8_t)bytes[i])
			return false;
	return true;
}

enum arch_leaf arch_leaf_at(const uint8_t *pc, size_t before, size_t after)
{
	if (after >= 4 && bytes_at(pc, "\xf3\x0f\x1e\xfa", 4)) { /* endbr64 */
		return ARCH_LEAF_RETURN_AT_SP;
	}
	if (after >= 1 && (*pc == 0xc3 || *pc == 0xc2)) /* ret */
		return ARCH_LEAF_RETURN_AT_SP;
	if (after >= 4 && bytes_at(pc, "\x55\x48\x89\xe5", 4)) /* push rbp; mov rbp,rsp */
		return ARCH_LEAF_RETURN_AT_SP;
	if (before >= 1 && after >= 3 && pc[-1] == 0x55 && bytes_at(pc, "\x48\x89\xe5", 3))
		return ARCH_LEAF_FP_AT_SP;
	return ARCH_LEAF_FRAME_POINTER;
}

size_t arch_epilogue(const uint8_t *pc, size_t after)
{
	/* add $n,%rsp; ret */
	return after >= 5 && bytes_at(pc, "\x48\x83\xc4", 3) && pc[3] < 0x80 && pc[4] == 0xc3
		       ? pc[3]
		       : 0;
}

bool arch_is_sigreturn(const uint8_t *pc, size_t after)
{
	/* mov $15,%rax or %eax; syscall */
	return (after >= 9 && bytes_at(pc, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9)) ||
	       (after >= 7 && bytes_at(pc, "\xb8\x0f\x00\x00\x00\x0f\x05", 7));
}

bool arch_is_behind_call(const uint8_t *pc, size_t before)
{
	if (before >= 5 && pc[-5] == 0xe8)
		return true;
	/* call *r/m: ff /2 with no, a one-byte and a four-byte displacement, with and without SIB */
	for (size_t length = 2; length <= 7 && length <= before; length++)
		if (pc[-(ptrdiff_t)length] == 0xff && (pc[1 - (ptrdiff_t)length] & 0x38) == 0x10)
			return true;
	return false;
}

/* Either "jmp *slot(%rip)" or "push $number; jmp", both possibly after endbr64 or a prefix. */
bool arch_read_stub(struct arch_stub *stub, const uint8_t *code, uint64_t start)
{
	size_t at = bytes_at(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	int32_t distance;

	if (code[at] == 0xf2)
		at++;
	if (bytes_at(code + at, "\xff\x25", 2)) {
		memcpy(&distance, code + at + 2, sizeof(distance));
		stub->slot = start + at + 6 + (uint64_t)(int64_t)distance;
		return true;
	}
	stub->has_number = code[at] == 0x68;
	memcpy(&stub->number, code + at + 1, sizeof(stub->number));
	return stub->has_number;
}

uintptr_t arch_branch_target(const uint8_t *code, uintptr_t address)
{
	int32_t offset;

	memcpy(&offset, code + 1, sizeof(offset));
	return code[0] == 0xe8 || code[0] == 0xe9 ? address + 5 + (uintptr_t)(intptr_t)offset : 0;
}

/* The instruction stores the address that it returns to. */
bool arch_call_has_just_ended(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_RCX] == context->uc_mcontext.gregs[REG_RIP];
}

void arch_mark_call(ucontext_t *context)
{
	context->uc_mcontext.gregs[REG_RCX] = 0;
}
