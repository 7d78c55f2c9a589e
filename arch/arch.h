/* What differs by processor. Each folder of a processor has an arch.h with these definitions:
 *
 *   ARCH_NAME, ARCH_ELF_MACHINE    the name that uname -m has for it, and its number in ELF files
 *   ARCH_R_...                     types of relocations: for the address of a function, for the address of a variable,
 *                                  for an indirect function, and for thread-local variables (number of the module,
 *                                  offset from the thread pointer, descriptor)
 *   ARCH_GLIBC_SINCE(VERSION)      the first glibc version with a function that x86-64 has since VERSION
 *   ARCH_LOADER_CACHE_FLAGS        the flags of this processor's libraries in /etc/ld.so.cache
 *   ARCH_VDSO_CLOCK                the name of the vDSO function that reads a clock
 *   ARCH_PAGE_MAX                  the largest page size
 *   ARCH_SIGNAL_STACK_MIN          the smallest alternate signal stack that the kernel accepts
 *   ARCH_RED_ZONE                  bytes below the stack pointer that are in use
 *   ARCH_SYSTEM_CALL               the bytes of the system call instruction; there are ARCH_SYSTEM_CALL_BYTES
 *   ARCH_SYSTEM_CALL_STACK         whether the C library's syscall(2) takes its last argument from the stack
 *   ARCH_ARGUMENT_REMAINS          whether a system call leaves its first argument in its register
 *   ARCH_THREAD_POINTER_HWCAP2     the bit of AT_HWCAP2 that arch_thread_pointer() needs; 0: none
 *   ARCH_DTV_GLIBC, ARCH_DTV_MUSL  offset of the dynamic thread vector from the thread pointer, for each C library
 *   ARCH_HANDLER_ENTRY(FUNCTION)   assembly: entry point of a signal handler, which jumps to FUNCTION with its index
 *   ARCH_SYSCALL_ENTRY             assembly: entry point of syscall(2), which jumps to RUN. For two numbers it jumps to
 *                                  what CHOOSE returns, which gets the first three arguments. All arguments, the other
 *                                  registers that a function keeps, and the stack are the caller's there.
 *   ARCH_UNSEEN_CALL(STATE)        assembly: makes a system call, restores its first five arguments from the thread-local
 *                                  variable STATE, and jumps to the address that STATE begins with, which it clears
 *   ARCH_START(FUNCTION)           assembly: entry point of a program, which calls FUNCTION with the initial stack
 *   ARCH_SP and others             DWARF numbers of registers. Unwinding needs two callee-saved registers: the frame
 *                                  pointer, and BASE, in which glibc's lazy binding trampoline keeps its frame.
 *                                  RESULT is the register of the return value.
 *   ARCH_UCONTEXT_SKIP             offset of the ucontext from the stack pointer when a handler returns
 *   ARCH_CODE_RULES                whether engine/modules/code_rules.h decodes this processor's code
 *   CONTEXT_...(CONTEXT)           members of a ucontext_t: program counter, stack pointer, result of a system call,
 *                                  its number, its arguments, the register that ARCH_UNSEEN_CALL jumps by, return
 *                                  address at the entry of a function
 *
 * and with these functions, all async-signal-safe:
 *
 *   kernel_call6()                 makes a system call; returns the kernel's result, -errno for an error
 *   thread_pointer()               the thread pointer, at which the C library stores the pointer itself
 *   arch_thread_pointer()          the same from the register, also where the pointer leads to no memory
 *   thread_pointer_offset()        distance from the thread pointer to OFFSET in the program's TLS segment; SIZE and ALIGN
 *                                  are those of the segment
 *   arch_ticks()                   the timestamp counter
 *   arch_microsecond_shift()       N; a microsecond has about 2^N ticks
 *   arch_strip()                   removes the pointer authentication code from a return address
 *   arch_here()                    the registers at the point of the call
 *
 * A file of arch/generic is the fallback for processors that have no file of the same name. */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdint.h>

/* Registers at one point in the code. */
struct arch_here {
	uintptr_t pc, sp, fp, base;
};

/* Bits of a user address. The keys of the rule cache have this size too. */
#define ARCH_ADDRESS_BITS 48

#if defined(__x86_64__)
#include "arch/x86_64/arch.h"
#elif defined(__aarch64__)
#include "arch/aarch64/arch.h"
#else
#error "arch/ has no folder for this processor"
#endif

#endif
