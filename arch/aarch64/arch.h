/* aarch64: see arch/arch.h. */
#ifndef ARCH_AARCH64_ARCH_H
#define ARCH_AARCH64_ARCH_H

#define ARCH_NAME        "aarch64"
#define ARCH_ELF_MACHINE EM_AARCH64

/* Numbers, because musl's header lacks some of these names and has other names for some. */
#define ARCH_R_FUNCTION       1026 /* R_AARCH64_JUMP_SLOT */
#define ARCH_R_VARIABLE       1025 /* R_AARCH64_GLOB_DAT */
#define ARCH_R_CHOSEN         1032 /* R_AARCH64_IRELATIVE */
#define ARCH_R_TLS_MODULE     1028 /* R_AARCH64_TLS_DTPMOD */
#define ARCH_R_TLS_OFFSET     1030 /* R_AARCH64_TLS_TPREL */
#define ARCH_R_TLS_DESCRIPTOR 1031 /* R_AARCH64_TLSDESC */

#define ARCH_GLIBC_SINCE(version)  "2.17" /* the first for this processor */
#define ARCH_LOADER_CACHE_FLAGS    0x0a03
#define ARCH_VDSO_CLOCK            "__kernel_clock_gettime"
#define ARCH_PAGE_MAX              65536
#define ARCH_SIGNAL_STACK_MIN      5120
#define ARCH_RED_ZONE              0
#define ARCH_SYSTEM_CALL           "\x01\x00\x00\xd4" /* svc #0 */
#define ARCH_SYSTEM_CALL_BYTES     4
#define ARCH_SYSTEM_CALL_STACK     0
#define ARCH_ARGUMENT_REMAINS      0
#define ARCH_THREAD_POINTER_HWCAP2 0
#define ARCH_DTV_GLIBC             0
#define ARCH_DTV_MUSL              (-8)

/* The kernel passes no context to a handler without SA_SIGINFO. The context follows the siginfo, which takes 128
 * bytes. */
#define ARCH_HANDLER_ENTRY(function)    \
	"	hint #34\n" /* bti c */ \
	"	mov w3, #index\n"             \
	"	add x2, sp, #128\n"           \
	"	b " #function "\n"

#define ARCH_SYSCALL_ENTRY(run, choose, number1, number2) \
	"	hint #34\n" /* bti c */                   \
	"	cmp x0, #" number1 "\n"                   \
	"	b.eq 1f\n"                                      \
	"	cmp x0, #" number2 "\n"                   \
	"	b.ne " run "\n"                           \
	"1:	stp x29, x30, [sp, #-80]!\n"                  \
	"	.cfi_def_cfa_offset 80\n"                       \
	"	.cfi_offset 29, -80\n"                          \
	"	.cfi_offset 30, -72\n"                          \
	"	stp x0, x1, [sp, #16]\n"                        \
	"	stp x2, x3, [sp, #32]\n"                        \
	"	stp x4, x5, [sp, #48]\n"                        \
	"	stp x6, x7, [sp, #64]\n"                        \
	"	bl " choose "\n"                          \
	"	mov x16, x0\n"                                  \
	"	ldp x0, x1, [sp, #16]\n"                        \
	"	ldp x2, x3, [sp, #32]\n"                        \
	"	ldp x4, x5, [sp, #48]\n"                        \
	"	ldp x6, x7, [sp, #64]\n"                        \
	"	ldp x29, x30, [sp], #80\n"                      \
	"	.cfi_restore 29\n"                              \
	"	.cfi_restore 30\n"                              \
	"	.cfi_def_cfa_offset 0\n"                        \
	"	br x16\n"

#define ARCH_UNSEEN_CALL(state) "	brk #1\n" /* not used: see ARCH_ARGUMENT_REMAINS */

#define ARCH_START(function)                                        \
	__asm__(".globl _start\n_start:\n\tmov x29, #0\n"           \
		"\tmov x30, #0\n\tmov x0, sp\n\tbl " #function "\n" \
		"\tbrk #1\n")

#define ARCH_SP            31
#define ARCH_FP            29
#define ARCH_BASE          19
#define ARCH_RA            30
#define ARCH_RESULT        0
#define ARCH_REGISTERS     32
#define ARCH_UCONTEXT_SKIP 128 /* sizeof(siginfo_t) comes first */
#define ARCH_CODE_RULES    1

#define CONTEXT_PC(context)        ((context)->uc_mcontext.pc)
#define CONTEXT_SP(context)        ((context)->uc_mcontext.sp)
#define CONTEXT_RESULT(context)    ((context)->uc_mcontext.regs[0])
#define CONTEXT_NUMBER(context)    ((context)->uc_mcontext.regs[8])
#define CONTEXT_ARGUMENT1(context) ((context)->uc_mcontext.regs[0])
#define CONTEXT_ARGUMENT2(context) ((context)->uc_mcontext.regs[1])
#define CONTEXT_ARGUMENT3(context) ((context)->uc_mcontext.regs[2])
#define CONTEXT_ARGUMENT4(context) ((context)->uc_mcontext.regs[3])
#define CONTEXT_ARGUMENT5(context) ((context)->uc_mcontext.regs[4])
#define CONTEXT_ARGUMENT6(context) ((context)->uc_mcontext.regs[5])
#define CONTEXT_SCRATCH(context)   ((context)->uc_mcontext.regs[16])
#define CONTEXT_CALLER(context)    ((context)->uc_mcontext.regs[30])

static inline long kernel_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline uintptr_t thread_pointer(void)
{
	uintptr_t pointer;

	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

static inline uintptr_t arch_thread_pointer(void)
{
	return thread_pointer();
}

static inline intptr_t thread_pointer_offset(uint64_t offset, uint64_t size, uint64_t align)
{
	uint64_t mask = (align ? align : 1) - 1;

	(void)size;
	return (intptr_t)(offset + ((16 + mask) & ~mask));
}

static inline uint64_t arch_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline unsigned arch_microsecond_shift(void)
{
	uint64_t frequency;
	unsigned shift = 0;

	__asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
	while (frequency >> shift >= 2000000)
		shift++;
	return shift;
}

static inline uintptr_t arch_strip(uintptr_t address)
{
	register uintptr_t lr __asm__("x30") = address;

	__asm__("hint #7" : "+r"(lr)); /* xpaclri; does nothing on older processors */
	return lr;
}

static inline __attribute__((always_inline)) void arch_here(struct arch_here *here)
{
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x19"
			 : "=&r"(here->pc), "=&r"(here->sp), "=&r"(here->fp), "=&r"(here->base));
}

#endif
