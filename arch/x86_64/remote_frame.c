/* x86-64: registers of a thread that was stopped anywhere in its program. */
#include "arch/remote.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

#include "arch/arch.h"

#define REGISTER(name) (offsetof(struct user_regs_struct, name) / sizeof(unsigned long))

/* Results of interrupted system calls, which programs do not see. Source: linux/include/linux/errno.h. */
#define ERESTARTSYS           512
#define ERESTARTNOINTR        513
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

/* Of a signal frame. Source: linux/arch/x86/include/uapi/asm/ucontext.h and sigcontext.h. */
#define UC_FP_XSTATE      1u
#define UC_SIGCONTEXT_SS  2u
#define UC_STRICT_SS      4u
#define FP_SOFTWARE_BYTES 464

/* After the context, aligned to 64 bytes. */
#define FP_OFFSET 1024

_Static_assert(sizeof(ucontext_t) <= FP_OFFSET, "the extended registers follow it");

static bool is_restarted_by_kernel(long result)
{
	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
	       result == -ERESTART_RESTARTBLOCK;
}

/* The kernel has the call's number in orig_rax until the thread continues. A close(2) that was interrupted has released its
 * descriptor, which may be another file's already. */
static bool is_in_call(const struct remote_registers *registers)
{
	long number = (long)registers->words[REGISTER(orig_rax)];
	long result = (long)registers->words[REGISTER(rax)];

	return number >= 0 &&
	       ((result == -EINTR && number != SYS_close) || is_restarted_by_kernel(result));
}

void remote_continue_call(struct remote_registers *registers)
{
	if (is_in_call(registers) && (long)registers->words[REGISTER(rax)] == -EINTR)
		registers->words[REGISTER(rax)] = (unsigned long)-ERESTARTNOHAND;
}

void remote_restart_call(struct remote_registers *registers)
{
	if (!is_in_call(registers))
		return;
	registers->words[REGISTER(rax)] = registers->words[REGISTER(orig_rax)];
	registers->words[REGISTER(rip)] -= ARCH_SYSTEM_CALL_BYTES;
	registers->words[REGISTER(orig_rax)] = (unsigned long)-1;
}

bool remote_end_call(struct remote_registers *registers)
{
	if (!is_in_call(registers))
		return false;
	registers->words[REGISTER(rax)] = (unsigned long)REMOTE_CALL_ENDED;
	registers->words[REGISTER(orig_rax)] = (unsigned long)-1;
	return true;
}

/* r15: the call is clone(2); r14: where its thread continues; rbp: the frame. */
const unsigned char remote_code[REMOTE_CODE_BYTES] = {
	0x0f, 0x05,                   /* syscall */
	0x4d, 0x85, 0xff,             /* test %r15, %r15 */
	0x74, 0x08,                   /* je 1f */
	0x48, 0x85, 0xc0,             /* test %rax, %rax */
	0x75, 0x03,                   /* jne 1f */
	0x41, 0xff, 0xe6,             /* jmp *%r14 */
	0x48, 0x89, 0xec,             /* 1: mov %rbp, %rsp */
	0xb8, 0x0f, 0x00, 0x00, 0x00, /* mov $15, %eax: rt_sigreturn */
	0x0f, 0x05,                   /* syscall */
	0xf4,                         /* hlt */
};

void remote_set_code(struct remote_registers *registers, uintptr_t frame, uintptr_t entry)
{
	registers->words[REGISTER(rbp)] = frame;
	registers->words[REGISTER(r14)] = entry;
	registers->words[REGISTER(r15)] = entry != 0;
}

/* Copy the extended registers to STATE, in the format of a signal frame. Returns the bytes used, or -errno. */
static long write_extended(unsigned char *state, size_t room, pid_t tid)
{
	struct iovec all = { state, room - sizeof(uint32_t) };
	struct _fpx_sw_bytes software = { .magic1 = FP_XSTATE_MAGIC1 };
	const uint32_t end = FP_XSTATE_MAGIC2;
	long err = kernel_call6(SYS_ptrace, PTRACE_GETREGSET, tid, NT_X86_XSTATE, (long)&all, 0, 0);

	if (err) /* a processor without XSAVE */
		return kernel_call6(SYS_ptrace, PTRACE_GETFPREGS, tid, 0, (long)state, 0, 0)
			       ?: (long)sizeof(struct user_fpregs_struct);
	memcpy(&software.xstate_bv, state + FP_SOFTWARE_BYTES, sizeof(software.xstate_bv));
	software.xstate_size = (uint32_t)all.iov_len;
	software.extended_size = (uint32_t)(all.iov_len + sizeof(end));
	memcpy(state + FP_SOFTWARE_BYTES, &software, sizeof(software));
	memcpy(state + all.iov_len, &end, sizeof(end));
	return (long)(all.iov_len + sizeof(end));
}

static void write_general(ucontext_t *context, const struct remote_registers *registers)
{
	static const struct {
		int greg;
		size_t word;
	} places[] = {
		{ REG_R8, REGISTER(r8) },   { REG_R9, REGISTER(r9) },
		{ REG_R10, REGISTER(r10) }, { REG_R11, REGISTER(r11) },
		{ REG_R12, REGISTER(r12) }, { REG_R13, REGISTER(r13) },
		{ REG_R14, REGISTER(r14) }, { REG_R15, REGISTER(r15) },
		{ REG_RDI, REGISTER(rdi) }, { REG_RSI, REGISTER(rsi) },
		{ REG_RBP, REGISTER(rbp) }, { REG_RBX, REGISTER(rbx) },
		{ REG_RDX, REGISTER(rdx) }, { REG_RAX, REGISTER(rax) },
		{ REG_RCX, REGISTER(rcx) }, { REG_RSP, REGISTER(rsp) },
		{ REG_RIP, REGISTER(rip) }, { REG_EFL, REGISTER(eflags) },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		context->uc_mcontext.gregs[places[i].greg] =
			(greg_t)registers->words[places[i].word];
	context->uc_mcontext.gregs[REG_CSGSFS] =
		(greg_t)(registers->words[REGISTER(cs)] | registers->words[REGISTER(ss)] << 48);
}

long remote_write_frame(unsigned char frame[REMOTE_FRAME_MAX], uintptr_t address, pid_t tid,
			const struct remote_registers *registers, uint64_t mask)
{
	ucontext_t context = { .uc_flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_SS };
	uintptr_t state = (address + FP_OFFSET + 63) & ~(uintptr_t)63;
	long bytes = write_extended(frame + (state - address), REMOTE_FRAME_MAX - (state - address),
				    tid);

	if (bytes < 0)
		return bytes;
	write_general(&context, registers);
	context.uc_mcontext.fpregs = (fpregset_t)state;
	memcpy(&context.uc_sigmask, &mask, sizeof(mask));
	context.uc_stack.ss_flags = -1; /* not valid: the kernel keeps the signal stack as it is */
	memcpy(frame, &context, sizeof(context));
	return (long)(state - address) + bytes;
}
