/* x86-64: registers of a stopped thread. */
#include "arch/remote.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "arch/arch.h"

_Static_assert(sizeof(struct user_regs_struct) <= sizeof(struct remote_registers),
	       "room for all registers");

#define REGISTER(name) (offsetof(struct user_regs_struct, name) / sizeof(unsigned long))

bool remote_is_supported(void)
{
	return true;
}

int remote_get(pid_t tid, struct remote_registers *registers)
{
	struct iovec all = { registers->words, sizeof(struct user_regs_struct) };
	long err = kernel_call6(SYS_ptrace, PTRACE_GETREGSET, tid, NT_PRSTATUS, (long)&all, 0, 0);

	/* A 32-bit program has fewer. */
	return err ? (int)err : all.iov_len == sizeof(struct user_regs_struct) ? 0 : -1;
}

int remote_set(pid_t tid, const struct remote_registers *registers)
{
	struct iovec all = { (void *)(uintptr_t)registers->words, sizeof(struct user_regs_struct) };

	return (int)kernel_call6(SYS_ptrace, PTRACE_SETREGSET, tid, NT_PRSTATUS, (long)&all, 0, 0);
}

void remote_set_call(struct remote_registers *registers, uintptr_t pc, long number,
		     const long arguments[6])
{
	static const size_t places[6] = { REGISTER(rdi), REGISTER(rsi), REGISTER(rdx),
					  REGISTER(r10), REGISTER(r8),  REGISTER(r9) };

	registers->words[REGISTER(rip)] = pc;
	registers->words[REGISTER(rax)] = (unsigned long)number;
	registers->words[REGISTER(orig_rax)] = (unsigned long)-1;
	for (size_t i = 0; i < 6; i++)
		registers->words[places[i]] = (unsigned long)arguments[i];
}

void remote_set_entry(struct remote_registers *registers, uintptr_t initial_stack,
		      uintptr_t channel)
{
	registers->words[REGISTER(r12)] = initial_stack;
	registers->words[REGISTER(r13)] = channel;
}

void remote_set_hold(struct remote_registers *registers, uintptr_t pc, uintptr_t released,
		     uintptr_t mask)
{
	registers->words[REGISTER(r12)] = released;
	registers->words[REGISTER(r13)] = registers->words[REGISTER(rsp)];
	registers->words[REGISTER(r14)] = registers->words[REGISTER(rip)];
	registers->words[REGISTER(r15)] = mask;
	registers->words[REGISTER(rip)] = pc;
	registers->words[REGISTER(orig_rax)] = (unsigned long)-1;
}

uintptr_t remote_pc(const struct remote_registers *registers)
{
	return registers->words[REGISTER(rip)];
}

uintptr_t remote_sp(const struct remote_registers *registers)
{
	return registers->words[REGISTER(rsp)];
}

long remote_result(const struct remote_registers *registers)
{
	return (long)registers->words[REGISTER(rax)];
}
