/* Decoding of this processor's machine code, and offsets of registers in signal frames. Async-signal-safe. */
#ifndef ARCH_CODE_H
#define ARCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch/arch.h"

/* Return the offset of DWARF register NUMBER in a ucontext_t, in bytes; negative if it is not saved. ARCH_RA is the
 * program counter on x86-64 and the link register on aarch64. */
ptrdiff_t arch_register_offset(unsigned number);
ptrdiff_t arch_pc_offset(void);

/* How to find the caller of a frame that has no unwind information. */
enum arch_leaf {
	ARCH_LEAF_FRAME_POINTER, /* the frame pointer belongs to this function */
	ARCH_LEAF_RETURN_AT_SP,  /* nothing is pushed yet, or all is popped */
	ARCH_LEAF_FP_AT_SP,      /* the frame pointer is pushed, not yet set */
	ARCH_LEAF_RETURN_IN_LINK /* aarch64: the return address is still in x30 */
};

/* Classify the code around PC, which is the interrupted instruction or a copy of it. BEFORE and AFTER are the
 * readable bytes on each side. At most 16 are read on each. */
enum arch_leaf arch_leaf_at(const uint8_t *pc, size_t before, size_t after);

/* Return how many bytes the epilogue at PC pops before it returns; 0 where PC is not at an epilogue. AFTER bytes at
 * PC are readable. */
size_t arch_epilogue(const uint8_t *pc, size_t after);

/* True when the AFTER bytes at PC are the code that a signal handler returns to. */
bool arch_is_sigreturn(const uint8_t *pc, size_t after);

/* Copies memory of this process. False if it cannot be read. */
typedef bool arch_copy(void *data, uintptr_t address, size_t size);

/* Find the number of the system call that has just ended before CONTEXT. On x86-64 the result replaces it, so follow the code
 * back to the instruction that sets it: in this function and in its callers, as far as they are called directly. Returns -1
 * if the number is not certain, and on a processor whose result replaces an argument: the call cannot be made again. COPY
 * reads memory.
 *
 * An indirect jump to an instruction between that one and the call would not be noticed, nor a jump from a distance of more
 * than 4 KiB. */
long arch_call_number(const ucontext_t *context, arch_copy *copy);

/* True when the thread has executed no instruction since the kernel ended the system call before CONTEXT; false after
 * arch_mark_call(), and always on other processors than x86-64. */
bool arch_call_has_just_ended(const ucontext_t *context);

/* Get the arguments of the system call that CONTEXT was interrupted in. */
static inline void arch_call_arguments(const ucontext_t *context, uintptr_t arguments[6])
{
	arguments[0] = (uintptr_t)CONTEXT_ARGUMENT1(context);
	arguments[1] = (uintptr_t)CONTEXT_ARGUMENT2(context);
	arguments[2] = (uintptr_t)CONTEXT_ARGUMENT3(context);
	arguments[3] = (uintptr_t)CONTEXT_ARGUMENT4(context);
	arguments[4] = (uintptr_t)CONTEXT_ARGUMENT5(context);
	arguments[5] = (uintptr_t)CONTEXT_ARGUMENT6(context);
}

/* Mark CONTEXT, which is after a system call, by a register that such a call changes. */
void arch_mark_call(ucontext_t *context);

/* True when the BEFORE bytes that end at PC may be a call instruction. */
bool arch_is_behind_call(const uint8_t *pc, size_t before);

/* Target of a call or a jump: ADDRESS, or with INDIRECT the address that is stored at ADDRESS. */
struct arch_target {
	uintptr_t address;
	bool indirect;
};

/* Find the target of the call that ends at PC, or of the linker's stub that begins at PC. BEFORE and AFTER are the
 * readable bytes. PC points to a copy of the code at FROM. Return false if there is no target or it is not known. */
bool arch_call_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t before);
bool arch_stub_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t after);

/* True when the BYTES of code at PC, a copy of the code at FROM, may contain a jump to TARGET. */
bool arch_jumps_to(const uint8_t *pc, size_t bytes, uintptr_t from, uintptr_t target);

/* Linker's stub for calls of a function in another module. It jumps to the address in SLOT, or passes the NUMBER of
 * a relocation to the dynamic linker. */
struct arch_stub {
	uint64_t slot;
	uint32_t number;
	bool has_number;
};

/* Decode the 16 bytes of CODE, which begin at address START. Return false where they are not a stub. */
bool arch_read_stub(struct arch_stub *stub, const uint8_t *code, uint64_t start);

/* Return the address that the instruction at ADDRESS calls or jumps to; 0 for other instructions. CODE is a copy of
 * its first five bytes. */
uintptr_t arch_branch_target(const uint8_t *code, uintptr_t address);

/* Set the flags and the return address that rt_sigaction(2) needs for a handler. */
void arch_set_restorer(unsigned long *flags, void **restorer);

#endif
