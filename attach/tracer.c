/* Puts code into a program by ptrace(2), at the end of its execve(2).
 *
 * No code of the program is written: system calls are made by an instruction of the vDSO, which is stepped over. No page
 * is writable and executable at the same time. */
#include "attach/tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "arch/remote.h"
#include "attach/channel.h"
#include "core/kernel.h"

#define PAGE     ARCH_PAGE_MAX
#define SEGMENTS 8

/* Of the thread that starts the agent. Parsing of settings takes a few kilobytes. */
#define STACK_BYTES (64ul << 10)

/* The vDSO has a few pages. */
#define VDSO_MAX (16 * PAGE)

#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

/* The signal of a single step must not be blocked: the kernel would reset its action. */
#define ALL_SIGNALS  (~UINT64_C(0))
#define ALL_BUT_TRAP (ALL_SIGNALS & ~(UINT64_C(1) << (SIGTRAP - 1)))

struct payload {
	const char *path;
	Elf64_Phdr segments[SEGMENTS];
	size_t count;
	uintptr_t entry, bytes; /* address of the entry and of the end, relative to the start */
};

struct program {
	pid_t pid;
	struct remote_registers registers; /* at the end of execve(2) */
	uint64_t mask;
	uintptr_t call; /* address of a system call instruction */
	uintptr_t base; /* of the payload; 0: not mapped yet */
};

static void zero(void *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)memory)[i] = 0;
}

static void print_failure(const char *text)
{
	size_t bytes = 0;

	while (text[bytes])
		bytes++;
	kernel_call4(SYS_write, 2, (long)text, (long)bytes, 0);
}

static uintptr_t page_up(uintptr_t address)
{
	return (address + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
}

/* ---- The file ---- */

static int payload_read_headers(struct payload *payload, int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (kernel_call4(SYS_pread64, fd, (long)&header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(segment) || header.e_machine != ARCH_ELF_MACHINE)
		return -ENOEXEC;
	payload->entry = header.e_entry;
	for (size_t i = 0; i < header.e_phnum; i++) {
		if (kernel_call4(SYS_pread64, fd, (long)&segment, sizeof(segment),
				 (long)(header.e_phoff + i * sizeof(segment))) != sizeof(segment))
			return -ENOEXEC;
		if (segment.p_type != PT_LOAD)
			continue;
		if (payload->count == SEGMENTS)
			return -ENOEXEC;
		payload->segments[payload->count++] = segment;
		payload->bytes = page_up(segment.p_vaddr + segment.p_memsz);
	}
	return payload->count ? 0 : -ENOEXEC;
}

static int payload_open(struct payload *payload, const char *path)
{
	long fd = kernel_call4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	int err;

	zero(payload, sizeof(*payload));
	payload->path = path;
	if (fd < 0)
		return (int)fd;
	err = payload_read_headers(payload, (int)fd);
	kernel_call4(SYS_close, fd, 0, 0, 0);
	return err;
}

/* ---- The stopped program ---- */

static long trace(int request, const struct program *program, long address, long data)
{
	return kernel_call4(SYS_ptrace, request, program->pid, address, data);
}

/* Wait until the program stops. It is gone if the result is false. */
static bool program_wait(const struct program *program, int *status)
{
	long result;

	do
		result = kernel_call4(SYS_wait4, program->pid, (long)status, __WALL, 0);
	while (result == -EINTR);
	return result == program->pid && WIFSTOPPED(*status);
}

/* Continue by REQUEST until the trap of EVENT; 0: of that request. Signals have their effect: a stopped program continues when
 * it gets SIGCONT, and then reaches the trap. It is gone if the result is false. The program runs already before its
 * exec event. */
static bool program_run(const struct program *program, int request, int event)
{
	bool runs = event == PTRACE_EVENT_EXEC, is_stopped = false;
	int status = 0, signo = 0, happened;

	for (;; runs = false) {
		if (!runs && trace(is_stopped ? PTRACE_LISTEN : request, program, 0, signo))
			return false;
		if (!program_wait(program, &status))
			return false;
		happened = status >> 16;
		signo = WSTOPSIG(status);
		if (happened == event && signo == SIGTRAP)
			return true;
		is_stopped = happened == PTRACE_EVENT_STOP && signo != SIGTRAP;
		if (happened)
			signo = 0;
	}
}

static bool memory_move(const struct program *program, long number, uintptr_t address, void *data,
			size_t bytes)
{
	struct iovec here = { data, bytes }, there = { (void *)address, bytes };

	return kernel_call6(number, program->pid, (long)&here, 1, (long)&there, 1, 0) ==
	       (long)bytes;
}

static bool memory_get(const struct program *program, uintptr_t address, void *data, size_t bytes)
{
	return memory_move(program, SYS_process_vm_readv, address, data, bytes);
}

static bool memory_put(const struct program *program, uintptr_t address, const void *data,
		       size_t bytes)
{
	return memory_move(program, SYS_process_vm_writev, address, (void *)(uintptr_t)data, bytes);
}

/* Execute the system call instruction at PC with REGISTERS, by a single step. Returns the result of the call. */
static long program_step(const struct program *program, struct remote_registers *registers,
			 uintptr_t pc)
{
	if (remote_set(program->pid, registers) || !program_run(program, PTRACE_SINGLESTEP, 0) ||
	    remote_get(program->pid, registers))
		return -ESRCH;
	if (remote_pc(registers) != pc + ARCH_SYSTEM_CALL_BYTES)
		return -ENOEXEC;
	return remote_result(registers);
}

static long program_call(const struct program *program, long number, const long arguments[6])
{
	struct remote_registers registers = program->registers;

	remote_set_call(&registers, program->call, number, arguments);
	return program_step(program, &registers, program->call);
}

/* ---- Steps of the injection ---- */

/* Get the value of KIND in the auxiliary vector, which follows the environment on the initial stack. */
static uintptr_t program_auxiliary(const struct program *program, uintptr_t kind)
{
	uintptr_t at = remote_sp(&program->registers) + sizeof(long), words[2] = { 1, 0 };

	for (int lists = 0; lists < 2; at += sizeof(words[0])) {
		if (!memory_get(program, at, words, sizeof(words[0])))
			return 0;
		lists += !words[0];
	}
	for (; memory_get(program, at, words, sizeof(words)) && words[0]; at += sizeof(words))
		if (words[0] == kind)
			return words[1];
	return 0;
}

static bool program_find_call(struct program *program)
{
	static const char instruction[] = ARCH_SYSTEM_CALL;
	uintptr_t vdso = program_auxiliary(program, AT_SYSINFO_EHDR);
	char page[PAGE];

	for (uintptr_t at = vdso; vdso && at < vdso + VDSO_MAX; at += PAGE) {
		if (!memory_get(program, at, page, PAGE))
			return false;
		for (size_t i = 0; i + ARCH_SYSTEM_CALL_BYTES <= PAGE; i++) {
			program->call = at + i;
			if (page[i] == instruction[0] && page[i + 1] == instruction[1])
				return true;
		}
	}
	return false;
}

static bool is_error(long result)
{
	return result < 0 && result > -PAGE;
}

static int segment_protection(const Elf64_Phdr *segment)
{
	return (segment->p_flags & PF_R ? PROT_READ : 0) |
	       (segment->p_flags & PF_W ? PROT_WRITE : 0) |
	       (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

/* The rest of the segment's last page is zeroed; further pages are there already. */
static bool segment_map(struct program *program, const Elf64_Phdr *segment, long fd)
{
	static const char zeroes[PAGE];
	uintptr_t skip = segment->p_vaddr % PAGE, end = segment->p_vaddr + segment->p_filesz;
	long at = (long)(program->base + segment->p_vaddr - skip);
	const long arguments[6] = { at,
				    (long)(segment->p_filesz + skip),
				    segment_protection(segment),
				    MAP_PRIVATE | MAP_FIXED,
				    fd,
				    (long)(segment->p_offset - skip) };

	if (program_call(program, SYS_mmap, arguments) != at)
		return false;
	return !(segment->p_flags & PF_W) ||
	       memory_put(program, program->base + end, zeroes, page_up(end) - end);
}

static bool payload_map_file(struct program *program, const struct payload *payload, long fd)
{
	for (size_t i = 0; i < payload->count; i++)
		if (!segment_map(program, &payload->segments[i], fd))
			return false;
	return true;
}

/* Map the segments, a page without access, and the stack, in this order. */
static bool payload_map(struct program *program, const struct payload *payload)
{
	const long bytes = (long)(payload->bytes + PAGE + STACK_BYTES);
	long path, fd, base;
	size_t length = 0;
	bool is_mapped;

	base = program_call(program, SYS_mmap,
			    (const long[6]){ 0, bytes, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0 });
	if (is_error(base))
		return false;
	program->base = (uintptr_t)base;
	while (payload->path[length++])
		;
	path = base + bytes - (long)STACK_BYTES;
	if (!memory_put(program, (uintptr_t)path, payload->path, length))
		return false;
	fd = program_call(program, SYS_openat,
			  (const long[6]){ AT_FDCWD, path, O_RDONLY | O_CLOEXEC });
	if (is_error(fd))
		return false;
	is_mapped = payload_map_file(program, payload, fd);
	program_call(program, SYS_close, (const long[6]){ fd });
	return is_mapped && !program_call(program, SYS_mprotect,
					  (const long[6]){ path - PAGE, PAGE, PROT_NONE });
}

/* Nothing of a failed injection stays in the program. */
static void payload_unmap(struct program *program, const struct payload *payload)
{
	if (program->base)
		program_call(program, SYS_munmap,
			     (const long[6]){ (long)program->base,
					      (long)(payload->bytes + PAGE + STACK_BYTES) });
}

/* Start the thread at the payload's entry, and let the program's thread wait for it. The program's mask lets SIGCHLD
 * through meanwhile: the tracer's end sends it, as the program has been executed since, and by default it has no
 * effect. */
static bool payload_start(struct program *program, const struct payload *payload)
{
	struct attach_channel channel = { .tracer = (pid_t)kernel_call4(SYS_getpid, 0, 0, 0, 0),
					  .mask = program->mask };
	uintptr_t top = program->base + payload->bytes + PAGE + STACK_BYTES,
		  at = top - ((sizeof(channel) + 15) & ~(uintptr_t)15),
		  entry = program->base + payload->entry;
	struct remote_registers registers = program->registers;
	const long arguments[6] = { THREAD_FLAGS, (long)at };

	if (!memory_put(program, at, &channel, sizeof(channel)))
		return false;
	remote_set_call(&registers, entry, SYS_clone, arguments);
	remote_set_entry(&registers, remote_sp(&program->registers), at);
	if (is_error(program_step(program, &registers, entry)))
		return false;
	remote_set_hold(&program->registers, entry + REMOTE_HOLD_OFFSET,
			at + offsetof(struct attach_channel, released),
			at + offsetof(struct attach_channel, mask));
	program->mask &= ~(UINT64_C(1) << (SIGCHLD - 1));
	return true;
}

static bool program_inject(struct program *program, const struct payload *payload)
{
	static const uint64_t blocked = ALL_BUT_TRAP;
	bool is_started = false;

	if (trace(PTRACE_GETSIGMASK, program, sizeof(blocked), (long)&program->mask) ||
	    trace(PTRACE_SETSIGMASK, program, sizeof(blocked), (long)&blocked))
		return false;
	if (program_find_call(program) && payload_map(program, payload))
		is_started = payload_start(program, payload);
	if (!is_started)
		payload_unmap(program, payload);
	remote_set(program->pid, &program->registers);
	trace(PTRACE_SETSIGMASK, program, sizeof(blocked), (long)&program->mask);
	return is_started;
}

/* ---- The tracer's process ---- */

/* A program with a dynamic linker loads the preload.
 *
 * At the exec event the kernel is still in execve(2), which will write its result to a register. */
static void program_trace(struct program *program, const struct payload *payload)
{
	if (!program_run(program, PTRACE_CONT, PTRACE_EVENT_EXEC) ||
	    !program_run(program, PTRACE_SYSCALL, 0))
		return;
	if (remote_get(program->pid, &program->registers) ||
	    (!program_auxiliary(program, AT_BASE) && !program_inject(program, payload)))
		print_failure(
			"asprof-agent: the agent cannot be put into this static program; profiling "
			"is off in this process\n");
	trace(PTRACE_DETACH, program, 0, 0);
}

/* The descriptors are the program's, except standard error for a message. Signals of the terminal are for the program. */
static void tracer_run(const struct payload *payload, pid_t pid, const int go[2],
		       const int ready[2])
{
	struct program program;
	long err = 0;

	zero(&program, sizeof(program));
	program.pid = pid;
	kernel_call4(SYS_setsid, 0, 0, 0, 0);
	kernel_call4(SYS_close, go[1], 0, 0, 0);
	if (kernel_call4(SYS_read, go[0], (long)&err, sizeof(err), 0) == sizeof(err)) {
		err = trace(PTRACE_SEIZE, &program, 0, PTRACE_O_TRACEEXEC);
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
