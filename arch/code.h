/* What the unwinder knows of a processor: which registers a walk carries, where a signal frame
 * keeps them, and how code without unwind information is told apart by its bytes. */
#ifndef ARCH_CODE_H
#define ARCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* DWARF register numbers. BASE is the one callee-saved register beside the frame pointer that a
 * caller's frame is ever computed from: glibc's lazy binding trampoline keeps its frame there. */
#if defined(__x86_64__)
#define ARCH_SP            7
#define ARCH_FP            6
#define ARCH_BASE          3
#define ARCH_RA            16
#define ARCH_RESULT        0
#define ARCH_REGISTERS     17
#define ARCH_UCONTEXT_SKIP 0 /* the ucontext lies at the restorer's stack pointer */
#define ARCH_CODE_RULES    0 /* whether engine/modules/code_rules.h reads its code */
#elif defined(__aarch64__)
#define ARCH_SP            31
#define ARCH_FP            29
#define ARCH_BASE          19
#define ARCH_RA            30
#define ARCH_RESULT        0
#define ARCH_REGISTERS     32
#define ARCH_UCONTEXT_SKIP 128 /* sizeof(siginfo_t) comes first */
#define ARCH_CODE_RULES    1
#else
#error "no unwinder for this processor"
#endif

/* The highest user address and one more; also what a key of the rule cache holds. */
#define ARCH_ADDRESS_BITS 48

/* Where DWARF register NUMBER is in a ucontext, in bytes; ARCH_RA is the program counter on
 * x86-64 and the link register on aarch64. Negative: not there. */
ptrdiff_t arch_register_offset(unsigned number);
ptrdiff_t arch_pc_offset(void);

/* How the caller of a frame without unwind information is found. */
enum arch_leaf {
	ARCH_LEAF_FRAME_POINTER, /* the frame pointer is this function's own */
	ARCH_LEAF_RETURN_AT_SP,  /* nothing pushed yet, or all popped again */
	ARCH_LEAF_FP_AT_SP,      /* the frame pointer is pushed, not yet set */
	ARCH_LEAF_RETURN_IN_LINK /* aarch64: the return address is still in x30 */
};

/* Tell from the code bytes around PC, the interrupted instruction or a copy. BEFORE and AFTER are how
 * many bytes may be read on each side; no more than 16 are. Async-signal-safe. */
enum arch_leaf arch_leaf_at(const uint8_t *pc, size_t before, size_t after);

/* How many bytes the code at PC, of which AFTER can be read, takes off the stack before it returns;
 * 0 when it does not begin so. */
size_t arch_epilogue(const uint8_t *pc, size_t after);

/* True when the AFTER bytes at PC are the code that ends a signal handler. */
bool arch_is_sigreturn(const uint8_t *pc, size_t after);

/* True when the BEFORE bytes that end at PC may be a call instruction. */
bool arch_is_behind_call(const uint8_t *pc, size_t before);

/* Where a call or a jump goes: to ADDRESS, or INDIRECT to what is read there. */
struct arch_target {
	uintptr_t address;
	bool indirect;
};

/* Find it for the call that ends the BEFORE bytes up to PC, or for the stub that begins the AFTER
 * bytes from PC on, as linkers make them for calls of other modules; what is at PC is a copy from
 * FROM. False when there is none, or when it cannot be told. */
bool arch_call_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t before);
bool arch_stub_target(struct arch_target *target, const uint8_t *pc, uintptr_t from, size_t after);

/* True when the BYTES of code at PC, a copy from FROM, may have a jump to TARGET. */
bool arch_jumps_to(const uint8_t *pc, size_t bytes, uintptr_t from, uintptr_t target);

/* Remove what pointer authentication put into a return address. */
static inline uintptr_t arch_strip(uintptr_t address)
{
#if defined(__aarch64__)
	register uintptr_t lr __asm__("x30") = address;

	__asm__("hint #7" : "+r"(lr)); /* xpaclri; does nothing on older processors */
	return lr;
#else
	return address;
#endif
}

/* The registers of the point in the code where this stands. */
struct arch_here {
	uintptr_t pc, sp, fp, base;
};

static inline __attribute__((always_inline)) void arch_here(struct arch_here *here)
{
#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3"
			 : "=&r"(here->pc), "=&r"(here->sp), "=&r"(here->fp), "=&r"(here->base));
#else
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x19"
			 : "=&r"(here->pc), "=&r"(here->sp), "=&r"(here->fp), "=&r"(here->base));
#endif
}

#endif
