/* x86-64: see arch/arch.h. */
#ifndef ARCH_X86_64_ARCH_H
#define ARCH_X86_64_ARCH_H

#define ARCH_NAME        "x86_64"
#define ARCH_ELF_MACHINE EM_X86_64

#define ARCH_R_FUNCTION       R_X86_64_JUMP_SLOT
#define ARCH_R_VARIABLE       R_X86_64_GLOB_DAT
#define ARCH_R_CHOSEN         R_X86_64_IRELATIVE
#define ARCH_R_TLS_MODULE     R_X86_64_DTPMOD64
#define ARCH_R_TLS_OFFSET     R_X86_64_TPOFF64
#define ARCH_R_TLS_DESCRIPTOR R_X86_64_TLSDESC

#define ARCH_GLIBC_SINCE(version)  version
#define ARCH_LOADER_CACHE_FLAGS    0x0303
#define ARCH_VDSO_CLOCK            "__vdso_clock_gettime"
#define ARCH_PAGE_MAX              4096
#define ARCH_SIGNAL_STACK_MIN      2048
#define ARCH_RED_ZONE              128
#define ARCH_SYSTEM_CALL           "\x0f\x05" /* syscall */
#define ARCH_SYSTEM_CALL_BYTES     2
#define ARCH_SYSTEM_CALL_STACK     1
#define ARCH_ARGUMENT_REMAINS      1
#define ARCH_THREAD_POINTER_HWCAP2 2 /* HWCAP2_FSGSBASE */
#define ARCH_DTV_GLIBC             8
#define ARCH_DTV_MUSL              8

#define ARCH_HANDLER_ENTRY(function) \
	"	endbr64\n"                 \
	"	mov $index, %ecx\n"        \
	"	jmp " #function "\n"

#define ARCH_SYSCALL_ENTRY(run, choose, number1, number2) \
	"	endbr64\n"                                      \
	"	cmp $" number1 ", %rdi\n"                 \
	"	je 1f\n"                                        \
	"	cmp $" number2 ", %rdi\n"                 \
	"	jne " run "\n"                            \
	"1:	push %rdi\n"                                  \
	"	push %rsi\n"                                    \
	"	push %rdx\n"                                    \
	"	push %rcx\n"                                    \
	"	push %r8\n"                                     \
	"	push %r9\n"                                     \
	"	sub $8, %rsp\n"                                 \
	"	.cfi_adjust_cfa_offset 56\n"                    \
	"	call " choose "\n"                        \
	"	add $8, %rsp\n"                                 \
	"	pop %r9\n"                                      \
	"	pop %r8\n"                                      \
	"	pop %rcx\n"                                     \
	"	pop %rdx\n"                                     \
	"	pop %rsi\n"                                     \
	"	pop %rdi\n"                                     \
	"	.cfi_adjust_cfa_offset -56\n"                   \
	"	jmp *%rax\n"

/* A system call leaves cx and 11 undefined. */
#define ARCH_UNSEEN_CALL(state)                       \
	"	syscall\n"                                  \
	"	mov " state "@gottpoff(%rip), %rcx\n" \
	"	mov %fs:8(%rcx), %rdi\n"                    \
	"	mov %fs:16(%rcx), %rsi\n"                   \
	"	mov %fs:24(%rcx), %rdx\n"                   \
	"	mov %fs:32(%rcx), %r10\n"                   \
	"	mov %fs:40(%rcx), %r8\n"                    \
	"	mov %fs:(%rcx), %r11\n"                     \
	"	movq $0, %fs:(%rcx)\n"                      \
	"	mov %r11, %rcx\n"                           \
	"	jmp *%r11\n"

/* The kernel leaves argc, argv and envp on the stack, and no return address. */
#define ARCH_START(function)                                 \
	__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n" \
		"\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall " #function "\n\thlt\n")

#define ARCH_SP            7
#define ARCH_FP            6
#define ARCH_BASE          3
#define ARCH_RA            16
#define ARCH_RESULT        0
#define ARCH_REGISTERS     17
#define ARCH_UCONTEXT_SKIP 0 /* the ucontext is at the restorer's stack pointer */
#define ARCH_CODE_RULES    0

#define CONTEXT_PC(context)        ((context)->uc_mcontext.gregs[REG_RIP])
#define CONTEXT_SP(context)        ((context)->uc_mcontext.gregs[REG_RSP])
#define CONTEXT_RESULT(context)    ((context)->uc_mcontext.gregs[REG_RAX])
#define CONTEXT_NUMBER(context)    ((context)->uc_mcontext.gregs[REG_RAX])
#define CONTEXT_ARGUMENT1(context) ((context)->uc_mcontext.gregs[REG_RDI])
#define CONTEXT_ARGUMENT2(context) ((context)->uc_mcontext.gregs[REG_RSI])
#define CONTEXT_ARGUMENT3(context) ((context)->uc_mcontext.gregs[REG_RDX])
#define CONTEXT_ARGUMENT4(context) ((context)->uc_mcontext.gregs[REG_R10])
#define CONTEXT_ARGUMENT5(context) ((context)->uc_mcontext.gregs[REG_R8])
#define CONTEXT_ARGUMENT6(context) ((context)->uc_mcontext.gregs[REG_R9])
#define CONTEXT_SCRATCH(context)   ((context)->uc_mcontext.gregs[REG_R11])
#define CONTEXT_CALLER(context)    (*(const uintptr_t *)CONTEXT_SP(context))

static inline long kernel_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline uintptr_t thread_pointer(void)
{
	uintptr_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

static inline uintptr_t arch_thread_pointer(void)
{
	uintptr_t pointer;

	__asm__ volatile("rdfsbase %0" : "=r"(pointer));
	return pointer;
}

static inline intptr_t thread_pointer_offset(uint64_t offset, uint64_t size, uint64_t align)
{
	uint64_t mask = (align ? align : 1) - 1;

	return (intptr_t)(offset - ((size + mask) & ~mask));
}

static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* The processor does not report the counter's frequency. This fits 2 to 4 GHz. */
static inline unsigned arch_microsecond_shift(void)
{
	return 11;
}

static inline uintptr_t arch_strip(uintptr_t address)
{
	return address;
}

static inline __attribute__((always_inline)) void arch_here(struct arch_here *here)
{
	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3"
			 : "=&r"(here->pc), "=&r"(here->sp), "=&r"(here->fp), "=&r"(here->base));
}

#endif
