/* Where a signal's context keeps what tells of a system call. */
#ifndef PRELOAD_INTERPOSE_CONTEXT_H
#define PRELOAD_INTERPOSE_CONTEXT_H

#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
#define CONTEXT_PC(context)        ((context)->uc_mcontext.gregs[REG_RIP])
#define CONTEXT_SP(context)        ((context)->uc_mcontext.gregs[REG_RSP])
#define CONTEXT_RESULT(context)    ((context)->uc_mcontext.gregs[REG_RAX])
#define CONTEXT_NUMBER(context)    ((context)->uc_mcontext.gregs[REG_RAX])
#define CONTEXT_ARGUMENT2(context) ((context)->uc_mcontext.gregs[REG_RSI])
#elif defined(__aarch64__)
#define CONTEXT_PC(context)        ((context)->uc_mcontext.pc)
#define CONTEXT_SP(context)        ((context)->uc_mcontext.sp)
#define CONTEXT_RESULT(context)    ((context)->uc_mcontext.regs[0])
#define CONTEXT_NUMBER(context)    ((context)->uc_mcontext.regs[8])
#define CONTEXT_ARGUMENT2(context) ((context)->uc_mcontext.regs[1])
#endif

/* Go on at PC with RESULT. */
static inline void context_return(ucontext_t *context, uintptr_t pc, long result)
{
	CONTEXT_PC(context) = (__typeof__(CONTEXT_PC(context)))pc;
	CONTEXT_RESULT(context) = (__typeof__(CONTEXT_RESULT(context)))result;
}

#endif
