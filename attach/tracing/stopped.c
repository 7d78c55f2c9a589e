/* A thread of another process that ptrace(2) has stopped.
 *
 * No code of the program is written: system calls are made by an instruction of the vDSO, or of memory that the tracer has
 * mapped. */
#include "attach/tracing/stopped.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "core/kernel.h"

/* The vDSO has a few pages. */
#define PAGE     STOPPED_PAGE
#define VDSO_MAX (16 * PAGE)

#define ALL_SIGNALS (~UINT64_C(0))
#define SIGSYS_BIT  (UINT64_C(1) << (SIGSYS - 1))

/* Of the signals that wait for a thread, how many to look at. */
#define PENDING_MAX 64

/* Linux 6.4; not in older headers. */
#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif

/* By stopped_interrupt(). */
static volatile bool is_interrupted;

long stopped_trace(int request, const struct stopped *thread, long address, long data)
{
	return kernel_call4(SYS_ptrace, request, thread->tid, address, data);
}

/* Wait until the program stops. It is gone if the result is false. */
static bool stopped_wait(const struct stopped *thread, int *status)
{
	long result;

	do
		result = kernel_call4(SYS_wait4, thread->tid, (long)status, __WALL, 0);
	while (result == -EINTR);
	return result == thread->tid && WIFSTOPPED(*status);
}

bool stopped_run(const struct stopped *thread, int request, int event)
{
	bool runs = event == PTRACE_EVENT_EXEC, is_stopped = false;
	int status = 0, signo = 0, happened;

	for (;; runs = false) {
		if (!runs && stopped_trace(is_stopped ? PTRACE_LISTEN : request, thread, 0, signo))
			return false;
		if (!stopped_wait(thread, &status))
			return false;
		happened = status >> 16;
		signo = WSTOPSIG(status);
		if (happened == event && signo == SIGTRAP)
			return true;
		if (!event && happened == PTRACE_EVENT_STOP && is_interrupted)
			return false;
		/* A call was not made. A handler would take it for one of the program. */
		if (!event && !happened && signo == SIGSYS)
			return false;
		is_stopped = event && happened == PTRACE_EVENT_STOP && signo != SIGTRAP;
		if (happened)
			signo = 0;
	}
}

static bool stopped_move(const struct stopped *thread, long number, uintptr_t address, void *data,
			 size_t bytes)
{
	struct iovec here = { data, bytes }, there = { (void *)address, bytes };

	return kernel_call6(number, thread->tid, (long)&here, 1, (long)&there, 1, 0) == (long)bytes;
}

bool stopped_read(const struct stopped *thread, uintptr_t address, void *data, size_t bytes)
{
	return stopped_move(thread, SYS_process_vm_readv, address, data, bytes);
}

bool stopped_write(const struct stopped *thread, uintptr_t address, const void *data, size_t bytes)
{
	return stopped_move(thread, SYS_process_vm_writev, address, (void *)(uintptr_t)data, bytes);
}

static bool is_of_call(const siginfo_t *info)
{
	return info->si_signo == SIGSYS && info->si_code > 0;
}

/* True if the thread is about to take the SIGSYS of a call that a seccomp filter does not permit. */
static bool has_refused_call(const struct stopped *thread)
{
	struct {
		uint64_t offset;
		uint32_t flags;
		int32_t count;
	} which;
	siginfo_t info;

	which.flags = 0;
	which.count = 1;
	for (which.offset = 0; which.offset < PENDING_MAX; which.offset++) {
		if (stopped_trace(PTRACE_PEEKSIGINFO, thread, (long)&which, (long)&info) != 1)
			return false;
		if (is_of_call(&info))
			return true;
	}
	return false;
}

/* The thread does not stop as expected: because of that signal, or it is gone. */
static long step_failed(const struct stopped *thread)
{
	siginfo_t info;

	if (is_interrupted)
		return -ETIMEDOUT;
	return !stopped_trace(PTRACE_GETSIGINFO, thread, 0, (long)&info) && is_of_call(&info)
		       ? -EPERM
		       : -ESRCH;
}

void stopped_interrupt(const struct stopped *thread)
{
	is_interrupted = true;
	stopped_trace(PTRACE_INTERRUPT, thread, 0, 0);
}

long stopped_step(const struct stopped *thread, struct remote_registers *registers, uintptr_t pc)
{
	const long number = remote_result(registers);

	if (is_interrupted)
		return -ETIMEDOUT;
	/* It stops before the call and after it. (A single step would leave a trap behind if the tracer ended.) */
	if (remote_set(thread->tid, registers))
		return -ESRCH;
	if (!stopped_run(thread, PTRACE_SYSCALL, 0) || !stopped_run(thread, PTRACE_SYSCALL, 0))
		return step_failed(thread);
	if (remote_get(thread->tid, registers))
		return -ESRCH;
	if (remote_pc(registers) != pc + ARCH_SYSTEM_CALL_BYTES)
		return -ENOEXEC;
	/* The kernel has not changed the register, and the signal comes next. */
	if (remote_result(registers) == number && has_refused_call(thread)) {
		stopped_run(thread, PTRACE_SYSCALL, 0);
		return -EPERM;
	}
	return remote_result(registers);
}

long stopped_call(const struct stopped *thread, long number, const long arguments[6])
{
	struct remote_registers registers = thread->registers;

	remote_set_call(&registers, thread->call, number, arguments);
	return stopped_step(thread, &registers, thread->call);
}

bool stopped_find_call(struct stopped *thread, uintptr_t vdso)
{
	static const char instruction[] = ARCH_SYSTEM_CALL;
	char page[PAGE];

	for (uintptr_t at = vdso; vdso && at < vdso + VDSO_MAX; at += PAGE) {
		if (!stopped_read(thread, at, page, PAGE))
			return false;
		for (size_t i = 0; i + ARCH_SYSTEM_CALL_BYTES <= PAGE; i++) {
			thread->call = at + i;
			if (page[i] == instruction[0] && page[i + 1] == instruction[1])
				return true;
		}
	}
	return false;
}

void stopped_unmap(const struct stopped *thread, uintptr_t start, size_t bytes)
{
	stopped_call(thread, SYS_munmap, (const long[6]){ (long)start, (long)bytes });
}

bool stopped_call_failed(long result)
{
	return result < 0 && result > -PAGE;
}

bool stopped_get(struct stopped *thread)
{
	return !remote_get(thread->tid, &thread->registers) &&
	       !stopped_trace(PTRACE_GETSIGMASK, thread, sizeof(thread->mask), (long)&thread->mask);
}

/* While SIGSYS is blocked, the kernel removes its handler for a call that is not made. */
bool stopped_block_signals(const struct stopped *thread)
{
	const uint64_t blocked = (ALL_SIGNALS & ~SIGSYS_BIT) | (thread->mask & SIGSYS_BIT);

	return !stopped_trace(PTRACE_SETSIGMASK, thread, sizeof(blocked), (long)&blocked);
}

bool stopped_unblock_signals(const struct stopped *thread)
{
	return !stopped_trace(PTRACE_SETSIGMASK, thread, sizeof(thread->mask), (long)&thread->mask);
}

bool stopped_dispatches(const struct stopped *thread)
{
	struct {
		uint64_t mode, selector, start, length;
	} config;

	return !stopped_trace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, thread, sizeof(config),
			      (long)&config) &&
	       config.mode;
}

/* The mask comes first: code of the tracer restores the rest if the tracer ends in between (attach/tracing/running.c). */
void stopped_restore(const struct stopped *thread)
{
	stopped_unblock_signals(thread);
	remote_set(thread->tid, &thread->registers);
}
