/* Puts code into a program by ptrace(2), at the end of its execve(2). No page is writable and executable at the same
 * time. */
#include "attach/tracing/tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attach/channel.h"
#include "attach/tracing/payload.h"
#include "attach/tracing/stopped.h"
#include "core/kernel.h"

#define ALL_SIGNALS (~UINT64_C(0))

static void print_failure(const char *text)
{
	size_t bytes = 0;

	while (text[bytes])
		bytes++;
	kernel_call4(SYS_write, 2, (long)text, (long)bytes, 0);
}

/* ---- The program ---- */

/* Get the value of KIND in the auxiliary vector, which follows the environment on the initial stack. */
static uintptr_t program_auxiliary(const struct stopped *program, uintptr_t kind)
{
	uintptr_t at = remote_sp(&program->registers) + sizeof(long), words[2] = { 1, 0 };

	for (int lists = 0; lists < 2; at += sizeof(words[0])) {
		if (!stopped_read(program, at, words, sizeof(words[0])))
			return 0;
		lists += !words[0];
	}
	for (; stopped_read(program, at, words, sizeof(words)) && words[0]; at += sizeof(words))
		if (words[0] == kind)
			return words[1];
	return 0;
}

/* Get the address of the program's dynamic section from its COUNT program headers at AT; 0 if it has none. */
static uintptr_t program_dynamic(const struct stopped *program, uintptr_t at, uintptr_t count)
{
	uintptr_t bias = 0, dynamic = 0;
	Elf64_Phdr header;

	for (uintptr_t i = 0;
	     i < count && stopped_read(program, at + i * sizeof(header), &header, sizeof(header));
	     i++) {
		if (header.p_type == PT_PHDR)
			bias = at - header.p_vaddr;
		if (header.p_type == PT_DYNAMIC)
			dynamic = header.p_vaddr;
	}
	return dynamic ? bias + dynamic : 0;
}

/* Whether the program's dynamic linker loads a library for it, and so the preload has a C library. */
static bool program_has_library(const struct stopped *program)
{
	uintptr_t at = program_dynamic(program, program_auxiliary(program, AT_PHDR),
				       program_auxiliary(program, AT_PHNUM));
	Elf64_Dyn entry;

	if (!program_auxiliary(program, AT_BASE))
		return false;
	for (; at && stopped_read(program, at, &entry, sizeof(entry)) && entry.d_tag != DT_NULL;
	     at += sizeof(entry))
		if (entry.d_tag == DT_NEEDED)
			return true;
	return false;
}

/* ---- Steps of the injection ---- */

/* Start the thread at the payload's entry, and let the program's thread wait for it. The program's mask lets SIGCHLD
 * through meanwhile: the tracer's end sends it, as the program has been executed since, and by default it has no
 * effect. */
static bool payload_start(struct stopped *program, const struct payload *payload, uintptr_t base)
{
	struct attach_channel channel = { .start = base,
					  .bytes = payload_mapped_bytes(payload),
					  .tracer = (pid_t)kernel_call4(SYS_getpid, 0, 0, 0, 0),
					  .mask = program->mask };
	uintptr_t top = base + payload_mapped_bytes(payload),
		  at = top - ((sizeof(channel) + 15) & ~(uintptr_t)15),
		  entry = base + payload->entry;
	struct remote_registers registers = program->registers;
	const long arguments[6] = { PAYLOAD_THREAD_FLAGS, (long)at };

	if (!stopped_write(program, at, &channel, sizeof(channel)))
		return false;
	remote_set_call(&registers, entry, SYS_clone, arguments);
	remote_set_entry(&registers, remote_sp(&program->registers), at);
	if (stopped_call_failed(stopped_step(program, &registers, entry)))
		return false;
	remote_set_hold(&program->registers, entry + REMOTE_HOLD_OFFSET,
			at + offsetof(struct attach_channel, released),
			at + offsetof(struct attach_channel, mask));
	program->mask &= ~(UINT64_C(1) << (SIGCHLD - 1));
	return true;
}

/* Nothing of a failed injection stays in the program. */
static bool program_inject(struct stopped *program, const struct payload *payload)
{
	uintptr_t base = 0;
	bool is_started = false;

	if (!stopped_block_signals(program))
		return false;
	if (stopped_find_call(program, program_auxiliary(program, AT_SYSINFO_EHDR)) &&
	    payload_map(program, payload, &base))
		is_started = payload_start(program, payload, base);
	if (!is_started && base)
		stopped_call(program, SYS_munmap,
			     (const long[6]){ (long)base, (long)payload_mapped_bytes(payload) });
	stopped_restore(program);
	return is_started;
}

/* ---- The tracer's process ---- */

/* At the exec event the kernel is still in execve(2), which will write its result to a register. */
static void program_trace(struct stopped *program, const struct payload *payload)
{
	if (!stopped_run(program, PTRACE_CONT, PTRACE_EVENT_EXEC) ||
	    !stopped_run(program, PTRACE_SYSCALL, 0))
		return;
	if (!stopped_get(program) ||
	    (!program_has_library(program) && !program_inject(program, payload)))
		print_failure(
			"asprof-agent: the agent cannot be put into this static program; profiling "
			"is off in this process\n");
	stopped_trace(PTRACE_DETACH, program, 0, 0);
}

/* The descriptors are the program's, except standard error for a message. Signals of the terminal are for the program. */
static void tracer_run(const struct payload *payload, pid_t pid, const int go[2],
		       const int ready[2])
{
	struct stopped program;
	long err = 0;

	stopped_zero(&program, sizeof(program));
	program.tid = pid;
	kernel_call4(SYS_setsid, 0, 0, 0, 0);
	kernel_call4(SYS_close, go[1], 0, 0, 0);
	if (kernel_call4(SYS_read, go[0], (long)&err, sizeof(err), 0) == sizeof(err)) {
		err = stopped_trace(PTRACE_SEIZE, &program, 0, PTRACE_O_TRACEEXEC);
		kernel_call4(SYS_write, ready[1], (long)&err, sizeof(err), 0);
	}
	kernel_call4(SYS_close_range, 3, UINT_MAX, 0, 0);
	kernel_call4(SYS_close_range, 0, 1, 0, 0);
	if (!err)
		program_trace(&program, payload);
	for (;;)
		kernel_call4(SYS_exit_group, 0, 0, 0, 0);
}

/* Yama permits it to a process that is named. */
static int tracer_permit(pid_t tracer, const int go[2], const int ready[2])
{
	long err = 0;

	kernel_call4(SYS_close, ready[1], 0, 0, 0);
	kernel_call6(SYS_prctl, PR_SET_PTRACER, tracer, 0, 0, 0, 0);
	kernel_call4(SYS_write, go[1], (long)&err, sizeof(err), 0);
	if (kernel_call4(SYS_read, ready[0], (long)&err, sizeof(err), 0) != sizeof(err))
		err = -ECHILD;
	kernel_call6(SYS_prctl, PR_SET_PTRACER, 0, 0, 0, 0, 0);
	if (err)
		kernel_call4(SYS_wait4, tracer, 0, __WALL, 0);
	return (int)err;
}

int tracer_start(const char *path)
{
	static const uint64_t all = ALL_SIGNALS;
	pid_t self = (pid_t)kernel_call4(SYS_getpid, 0, 0, 0, 0);
	int go[2], ready[2], err;
	struct payload payload;
	uint64_t mask = 0;
	long tracer;

	err = remote_is_supported() ? payload_open(&payload, path) : -ENOSYS;
	if (err)
		return err;
	if (kernel_call4(SYS_pipe2, (long)go, O_CLOEXEC, 0, 0))
		return -EMFILE;
	err = (int)kernel_call4(SYS_pipe2, (long)ready, O_CLOEXEC, 0, 0);
	if (err)
		goto close_go;
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask, sizeof(all));
	tracer = kernel_call6(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (!tracer)
		tracer_run(&payload, self, go, ready);
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(all));
	err = tracer < 0 ? (int)tracer : tracer_permit((pid_t)tracer, go, ready);
	if (tracer < 0)
		kernel_call4(SYS_close, ready[1], 0, 0, 0);
	kernel_call4(SYS_close, ready[0], 0, 0, 0);
close_go:
	kernel_call4(SYS_close, go[0], 0, 0, 0);
	kernel_call4(SYS_close, go[1], 0, 0, 0);
	return err;
}
