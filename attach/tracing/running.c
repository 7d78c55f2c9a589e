/* Puts code into a running program by ptrace(2), and removes it. */
#include "attach/tracing/running.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/channel.h"
#include "attach/tracing/payload.h"
#include "attach/tracing/stopped.h"
#include "attach/thread_area.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/memory/region.h"
#include "core/options/option_value.h"
#include "core/shared.h"
#include "core/system.h"
#include "core/text/auxv.h"
#include "core/units.h"
#include "engine/sample/thread_call.h"

#define PAGE STOPPED_PAGE

/* Pages of code and signal frame, before the payload. */
#define CODE_BYTES ((REMOTE_FRAME_OFFSET + REMOTE_FRAME_MAX + PAGE - 1) / PAGE * PAGE)

#define AUXILIARY_MAX   4096
#define ENVIRONMENT_MAX (4u << 20)

/* How long to search for a thread that can be stopped, how long one may need to stop, and how long threads may be in the
 * attached code. */
#define SEARCH_NS  SECONDS(10)
#define STOP_NS    MS(200)
#define OUTSIDE_NS SECONDS(10)
#define PAUSE_NS   MS(1)

/* Of all steps. */
#define LIMIT_SECONDS 30

/* Linux 5.13; not in older headers. */
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

struct task {
	pid_t pid;
	uintptr_t vdso; /* of the program that it executes; 0: not known */
	char *problem;
	struct stopped thread;
};

static int fail(struct task *task, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct task *task, int err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(task->problem, RUNNING_PROBLEM_MAX, format, arguments);
	va_end(arguments);
	return err;
}

/* ---- Files of the process in /proc ---- */

static int proc_open(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, flags | O_CLOEXEC);
}

/* Append the contents of the file. Returns 0 or -errno. */
static int proc_read(pid_t pid, const char *name, struct buf *text)
{
	int fd = proc_open(pid, name, O_RDONLY), err = fd < 0 ? -errno : 0;

	if (!err)
		err = buf_append_file(text, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* The state of thread TID, as in /proc/PID/stat; 0: it is gone. */
static char thread_state(pid_t pid, pid_t tid)
{
	struct buf text = BUF_INIT(4096);
	char name[64], state = 0;
	const char *end;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	if (!proc_read(pid, name, &text) && buf_string(&text)) {
		end = strrchr(buf_string(&text), ')');
		state = end && end[1] ? end[2] : 0;
	}
	buf_free(&text);
	return state;
}

/* Signals in the line KEY, like "\nSigPnd:", of TEXT. */
static uint64_t status_signals(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* A signal waits that THREAD, with its own mask, will take. */
static bool signal_is_pending(pid_t pid, const struct stopped *thread)
{
	struct buf text = BUF_INIT(1u << 20);
	uint64_t pending = 0;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/status", thread->tid);
	if (!proc_read(pid, name, &text) && buf_string(&text))
		pending = status_signals(buf_string(&text), "\nSigPnd:") |
			  status_signals(buf_string(&text), "\nShdPnd:");
	buf_free(&text);
	return pending & ~thread->mask;
}

/* ---- Stopping a thread ---- */

static void pause_briefly(void)
{
	static const struct timespec time = { .tv_nsec = PAUSE_NS };

	nanosleep(&time, NULL);
}

/* Wait until the thread stops because of the request. It continues until then, with its signals. */
static int thread_await_stop(struct stopped *thread)
{
	static const struct timespec moment = { .tv_nsec = 20000 };
	uint64_t deadline = clock_monotonic_ns() + STOP_NS;
	int status;
	pid_t done;

	while (!(done = waitpid(thread->tid, &status, __WALL | WNOHANG)) ||
	       (done > 0 && WIFSTOPPED(status) && !(status >> 16))) {
		if (done && stopped_trace(PTRACE_CONT, thread, 0, WSTOPSIG(status)))
			return -ESRCH;
		if (!done && clock_monotonic_ns() > deadline)
			return -ETIMEDOUT;
		nanosleep(&moment, NULL);
	}
	if (done < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	/* A stop by SIGSTOP lasts. */
	return WSTOPSIG(status) == SIGTRAP ? 0 : -ECANCELED;
}

/* Restartable sequence: the kernel aborts it, but only where it sees the thread's own pc. Source: rseq(2), and
 * linux/include/uapi/linux/ptrace.h. */
static bool is_in_sequence(const struct stopped *thread)
{
	struct {
		uint64_t pointer;
		uint32_t bytes, signature, flags, padding;
	} config = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} sequence;
	uint64_t address = 0;

	if (stopped_trace(PTRACE_GET_RSEQ_CONFIGURATION, thread, sizeof(config), (long)&config) <
		    0 ||
	    !config.pointer ||
	    !stopped_read(thread, config.pointer + 8, &address, sizeof(address)) || !address ||
	    !stopped_read(thread, address, &sequence, sizeof(sequence)))
		return false;
	return remote_pc(&thread->registers) - sequence.start < sequence.length;
}

/* Stop thread TID of process PID in a safe place. Returns 0 or -errno. -EAGAIN: it runs; another thread, or a later time, may be better.
 * -ETIMEDOUT: it will stop at some time, and continue when this process ends. */
static int thread_stop(struct stopped *thread, pid_t pid, pid_t tid)
{
	int err;

	*thread = (struct stopped){ .tid = tid };
	err = (int)stopped_trace(PTRACE_SEIZE, thread, 0, 0);
	if (!err)
		err = (int)stopped_trace(PTRACE_INTERRUPT, thread, 0, 0);
	if (!err)
		err = thread_await_stop(thread);
	if (err)
		return err;
	/* (The id may belong to another process meanwhile.) */
	if (!thread_state(pid, tid) || !stopped_get(thread))
		err = -ESRCH;
	else if (is_in_sequence(thread))
		err = -EAGAIN;
	if (err)
		stopped_trace(PTRACE_DETACH, thread, 0, 0);
	return err;
}

/* Let the thread continue as if it had not been stopped: with its signal mask, and in the call that it waited in. */
static void thread_continue(pid_t pid, struct stopped *thread)
{
	if (!signal_is_pending(pid, thread))
		remote_restart_call(&thread->registers, false);
	stopped_restore(thread);
	stopped_trace(PTRACE_DETACH, thread, 0, 0);
}

/* Call VISIT for each thread until it returns something else than -EAGAIN, and return that. The main thread is the first. */
static int threads_visit(struct task *task,
			 int (*visit)(struct task *task, pid_t tid, void *context), void *context)
{
	char path[64];
	struct dirent *entry;
	int err = -EAGAIN;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/task", task->pid);
	list = opendir(path);
	if (!list)
		return -ESRCH;
	while (err == -EAGAIN && (entry = readdir(list)))
		if (*entry->d_name != '.')
			err = visit(task, atoi(entry->d_name), context);
	closedir(list);
	return err;
}

/* Stop the thread if it is in the states of CONTEXT. */
static int thread_try(struct task *task, pid_t tid, void *context)
{
	char state = thread_state(task->pid, tid);
	int err = state && strchr(context, state) ? thread_stop(&task->thread, task->pid, tid)
						  : -EAGAIN;

	return err == -ESRCH ? -EAGAIN : err;
}

/* Describe the error ERR of thread_stop(), and return it. */
static int fail_to_stop(struct task *task, int err)
{
	switch (err) {
	case -EAGAIN:
	case -ETIMEDOUT:
		return fail(task, err,
			    "no thread could be stopped within %d s: they wait for a disk or for a "
			    "child of vfork(2), or the process executes or ends",
			    (int)(SEARCH_NS / SECONDS(1)));
	case -EPERM:
		return fail(task, err, "the kernel forbids to trace it");
	case -ECANCELED:
		return fail(task, err,
			    "it is stopped by a signal; continue it first: kill -CONT %d",
			    task->pid);
	case -ESRCH:
		return fail(task, err, "it has ended");
	default:
		return fail(task, err, "cannot stop a thread: %s", strerror(-err));
	}
}

/* A thread that waits is better than one that runs. */
static int thread_choose(struct task *task)
{
	int err = threads_visit(task, thread_try, (void *)(uintptr_t) "S");

	if (err == -EAGAIN)
		err = threads_visit(task, thread_try, (void *)(uintptr_t) "RI");
	return err ? fail_to_stop(task, err) : 0;
}

/* ---- What the new thread gets, as on the stack of a new program ---- */

static uint64_t find_auxiliary(const struct buf *auxiliary, uint64_t kind)
{
	uint64_t value;

	return auxv_find(&value, auxiliary->data, auxiliary->length, sizeof(value), kind) ? value
											  : 0;
}

/* The user who attaches decides, not the environment of the process. */
static bool is_passed(const char *variable)
{
	return *variable && strncmp(variable, OPTION_PREFIX, strlen(OPTION_PREFIX)) != 0;
}

/* Append one word of the block. */
static int block_add(struct buf *block, uint64_t word)
{
	return buf_append(block, &word, sizeof(word));
}

/* Append addresses of the variables in STRINGS, which will be at ADDRESS. */
static int block_add_variables(struct buf *block, const struct buf *strings, uintptr_t address)
{
	int err = 0;

	for (size_t at = 0; !err && at < strings->length;
	     at += strlen((const char *)strings->data + at) + 1)
		err = block_add(block, address + at);
	return err ? err : block_add(block, 0);
}

/* Collect the variables: of the process, if they are its user's, and the settings. */
static int strings_collect(const struct running_request *request, bool is_trusted,
			   struct buf *strings)
{
	struct buf all = BUF_INIT(ENVIRONMENT_MAX);
	int err = is_trusted ? proc_read(request->pid, "environ", &all) : 0;
	const char *text = err ? NULL : buf_string(&all);

	for (size_t at = 0; text && !err && at < all.length; at += strlen(text + at) + 1)
		if (is_passed(text + at))
			err = buf_append(strings, text + at, strlen(text + at) + 1);
	for (char *const *setting = request->settings; !err && *setting; setting++)
		err = buf_append(strings, *setting, strlen(*setting) + 1);
	buf_free(&all);
	return err;
}

/* Write STRINGS, and then what the kernel writes for a new program that has them as its environment, and no arguments.
 * *WORDS becomes the offset of that. BLOCK will be at ADDRESS. */
static int block_write(struct buf *block, const struct buf *strings, const struct buf *auxiliary,
		       uintptr_t address, size_t *words)
{
	static const char padding[16];
	uint64_t pair[2];
	int err = strings->length ? buf_append(block, strings->data, strings->length) : 0;

	if (!err)
		err = buf_append(block, padding, -block->length % sizeof(padding));
	*words = block->length;
	if (!err)
		err = block_add(block, 0);
	if (!err)
		err = block_add(block, 0);
	if (!err)
		err = block_add_variables(block, strings, address);
	/* The program's privileges are not those of the settings. */
	for (size_t at = 0; !err && at + sizeof(pair) <= auxiliary->length; at += sizeof(pair)) {
		memcpy(pair, auxiliary->data + at, sizeof(pair));
		if (pair[0] != AT_NULL && pair[0] != AT_SECURE)
			err = buf_append(block, pair, sizeof(pair));
	}
	if (!err)
		err = block_add(block, AT_NULL);
	return err ? err : block_add(block, 0);
}

/* ---- The injection ---- */

struct injection {
	struct task *task;
	const struct payload *payload;
	const unsigned char *file; /* the payload's */
	struct buf auxiliary, strings, block;
	size_t words;    /* offset of the initial stack in the block */
	uintptr_t start; /* of the code, the payload with its stack, and the block */
	uintptr_t payload_at, block_at, region;
	size_t bytes;
};

/* Choose addresses in the middle of the largest gap: the program, which maps and unmaps elsewhere, does not expect any there
 * to be free. */
static uintptr_t find_gap(struct task *task, size_t bytes)
{
	char path[64], line[512];
	uint64_t start, end, before = 0, gap = 0, at = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", task->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) != 2)
			continue;
		if (before && start > before && start - before > gap && start < UINT64_MAX / 2) {
			gap = start - before;
			at = before + gap / 2 - bytes / 2;
		}
		before = end;
	}
	if (maps)
		fclose(maps);
	return gap > 2 * bytes ? (uintptr_t)(at & ~UINT64_C(0x1fffff)) : 0;
}

static int prepare(struct injection *in, const struct running_request *request)
{
	struct task *task = in->task;
	const size_t own = CODE_BYTES + payload_mapped_bytes(in->payload);
	int err = proc_read(task->pid, "auxv", &in->auxiliary);

	if (!err)
		err = strings_collect(request, !find_auxiliary(&in->auxiliary, AT_SECURE),
				      &in->strings);
	/* The block has the strings, an address for each, and the auxiliary vector. */
	in->bytes = own + in->strings.length * 9 + AUXILIARY_MAX + 64;
	in->bytes = stopped_page_up(in->bytes);
	if (!err && in->auxiliary.length > AUXILIARY_MAX)
		err = -E2BIG;
	if (err)
		return fail(task, err, "cannot read its environment: %s", strerror(-err));
	in->start = find_gap(task, in->bytes + REGION_BYTES);
	if (!in->start)
		return fail(task, -ENOMEM, "it has no room of 1 GiB in its address space");
	in->payload_at = in->start + CODE_BYTES;
	in->block_at = in->start + own;
	in->region = in->start + in->bytes;
	return block_write(&in->block, &in->strings, &in->auxiliary, in->block_at, &in->words)
		       ? fail(task, -ENOMEM, "out of memory")
		       : 0;
}

static int map_at(const struct stopped *caller, uintptr_t address, size_t bytes, int protection)
{
	long got = stopped_call(
		caller, SYS_mmap,
		(const long[6]){ (long)address, (long)bytes, protection,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				 -1, 0 });

	if (stopped_call_failed(got))
		return (int)got;
	if (got == (long)address)
		return 0;
	/* A seccomp filter does not permit the call: a signal follows. */
	if (got == SYS_mmap)
		return -EPERM;
	/* Before Linux 4.17. */
	stopped_call(caller, SYS_munmap, (const long[6]){ got, (long)bytes });
	return -EEXIST;
}

/* Write the code. From then on the thread can restore itself. */
static int write_code(const struct injection *in)
{
	static unsigned char code[CODE_BYTES];
	struct stopped *thread = &in->task->thread;
	struct remote_registers restarted = thread->registers;
	long bytes;
	int fd, err;

	remote_restart_call(&restarted, true);
	memcpy(code, remote_code, REMOTE_CODE_BYTES);
	bytes = remote_write_frame(code + REMOTE_FRAME_OFFSET, in->start + REMOTE_FRAME_OFFSET,
				   thread->tid, &restarted, thread->mask);
	if (bytes < 0)
		return (int)bytes;
	fd = proc_open(in->task->pid, "mem", O_WRONLY);
	if (fd < 0)
		return -errno;
	bytes += REMOTE_FRAME_OFFSET;
	err = pwrite(fd, code, (size_t)bytes, (off_t)in->start) == bytes ? 0 : -EIO;
	close(fd);
	return err;
}

static int write_segment(const struct stopped *caller, const struct injection *in,
			 const Elf64_Phdr *segment)
{
	return stopped_write(caller, in->payload_at + segment->p_vaddr,
			     in->file + segment->p_offset, segment->p_filesz)
		       ? 0
		       : -EFAULT;
}

static int protect(const struct stopped *caller, uintptr_t from, uintptr_t to, int protection)
{
	from &= ~(uintptr_t)(PAGE - 1);
	to = stopped_page_up(to);
	return (int)stopped_call(caller, SYS_mprotect,
				 (const long[6]){ (long)from, (long)(to - from), protection });
}

static int write_payload(const struct stopped *caller, const struct injection *in)
{
	const struct payload *payload = in->payload;
	const uintptr_t at = in->payload_at;
	int err = protect(caller, at, in->start + in->bytes, PROT_READ | PROT_WRITE);

	for (size_t i = 0; !err && i < payload->count; i++)
		err = write_segment(caller, in, &payload->segments[i]);
	for (size_t i = 0; !err && i < payload->count; i++)
		err = protect(caller, at + payload->segments[i].p_vaddr,
			      at + payload->segments[i].p_vaddr + payload->segments[i].p_memsz,
			      payload_protection(&payload->segments[i]));
	if (!err)
		err = protect(caller, at + payload->bytes, at + payload->bytes + PAGE, PROT_NONE);
	return err;
}

static int start_thread(const struct stopped *caller, const struct injection *in)
{
	struct attach_channel channel = { .start = in->start,
					  .bytes = in->bytes,
					  .region = in->region };
	uintptr_t at = in->block_at - ((sizeof(channel) + 15) & ~(uintptr_t)15);
	struct remote_registers registers = caller->registers;
	long tid;

	if (!stopped_write(caller, in->block_at, in->block.data, in->block.length) ||
	    !stopped_write(caller, at, &channel, sizeof(channel)))
		return -EFAULT;
	remote_set_call(&registers, caller->call, SYS_clone,
			(const long[6]){ PAYLOAD_THREAD_FLAGS, (long)at });
	remote_set_entry(&registers, in->block_at + in->words, at);
	remote_set_code(&registers, in->start + REMOTE_FRAME_OFFSET,
			in->payload_at + in->payload->entry + ARCH_SYSTEM_CALL_BYTES);
	tid = stopped_step(caller, &registers, caller->call);
	return stopped_call_failed(tid) ? (int)tid : 0;
}

static void unmap(const struct stopped *thread, uintptr_t start, size_t bytes)
{
	stopped_call(thread, SYS_munmap, (const long[6]){ (long)start, (long)bytes });
}

/* The steps in which the thread makes calls by the code. The code restores the signal mask too, so the thread has its
 * registers before the signals are blocked. */
static int inject_by_code(const struct injection *in)
{
	struct stopped caller = in->task->thread;
	struct remote_registers first;
	int err = -ESRCH;

	caller.call = in->start;
	remote_set_code(&caller.registers, in->start + REMOTE_FRAME_OFFSET, 0);
	first = caller.registers;
	remote_set_call(&first, caller.call, SYS_getpid, (const long[6]){ 0 });
	if (!remote_set(caller.tid, &first) && stopped_block_signals(&caller))
		err = write_payload(&caller, in);
	if (!err)
		err = map_at(&caller, in->region, REGION_BYTES, PROT_NONE);
	if (err)
		return err;
	err = start_thread(&caller, in);
	if (err)
		unmap(&caller, in->region, REGION_BYTES);
	return err;
}

/* Make calls by the vDSO, with signals blocked. If the tracer ends meanwhile, the program is lost. */
static int map_first(const struct injection *in)
{
	const struct stopped *thread = &in->task->thread;
	int err = stopped_block_signals(thread) ? 0 : -ESRCH;

	if (!err)
		err = map_at(thread, in->start, in->bytes, PROT_READ | PROT_EXEC);
	stopped_restore(thread);
	return err;
}

static int inject(void *context)
{
	const struct injection *in = context;
	const struct stopped *thread = &in->task->thread;
	int err = map_first(in);

	if (err)
		return err;
	err = write_code(in);
	if (!err)
		err = inject_by_code(in);
	if (!err)
		return 0;
	stopped_block_signals(thread);
	unmap(thread, in->start, in->bytes);
	return err;
}

/* ---- Work in a stopped thread ---- */

/* 0: not known. */
static uintptr_t find_vdso(pid_t pid)
{
	struct buf auxiliary = BUF_INIT(AUXILIARY_MAX);
	uintptr_t vdso = 0;

	if (!proc_read(pid, "auxv", &auxiliary))
		vdso = find_auxiliary(&auxiliary, AT_SYSINFO_EHDR);
	buf_free(&auxiliary);
	return vdso;
}

/* Stop a thread, call WORK, and let it continue. */
static int with_thread(struct task *task, int (*work)(void *context), void *context)
{
	struct stopped *thread = &task->thread;
	int err = thread_choose(task);

	if (err)
		return err;
	/* What has been read of it must not be of the program before execve(2). */
	if (!task->vdso || find_vdso(task->pid) != task->vdso)
		err = fail(task, -EAGAIN, "it executes other programs, or has no vDSO");
	else if (!stopped_find_call(thread, task->vdso))
		err = fail(task, -ENOSYS, "its vDSO cannot be read");
	else
		err = work(context);
	if (err && !*task->problem)
		fail(task, err, "the steps in its thread failed: %s", strerror(-err));
	thread_continue(task->pid, thread);
	return err;
}

/* ---- Removal ---- */

struct removal {
	struct task *task;
	const struct attached_range *range;
	bool is_inside; /* a thread was in the attached code */
};

static bool is_in(uintptr_t address, uintptr_t start, size_t bytes)
{
	return address - start < bytes;
}

/* The frame of the handler in which thread TID continues a call; 0: none. */
static uintptr_t find_frame(const struct removal *removal, const struct stopped *thread)
{
	const struct attached_range *range = removal->range;
	struct thread_area area;
	uintptr_t block;

	for (size_t i = 0; i < range->area_blocks; i++) {
		if (!stopped_read(thread, range->areas + i * sizeof(block), &block, sizeof(block)))
			break;
		for (size_t k = 0; block && k < range->block_areas; k++)
			if (stopped_read(thread, block + k * range->area_bytes, &area,
					 sizeof(area)) &&
			    area.tid == thread->tid)
				return area.frame;
	}
	return 0;
}

/* A handler of the program may run on top of that frame. (It may also have left it by longjmp(3).) */
#define NESTED_BYTES (1ul << 20)

static bool is_inside(const struct removal *removal, const struct stopped *thread, uintptr_t pc,
		      uintptr_t sp)
{
	const struct attached_range *range = removal->range;
	uintptr_t frame;

	if (is_in(pc, range->start, range->bytes) || is_in(pc, range->region, range->region_bytes))
		return true;
	frame = find_frame(removal, thread);
	return frame && is_in(sp, frame - NESTED_BYTES, NESTED_BYTES);
}

/* True if thread TID waits in a system call of the program. It does not notice the look. */
static bool waits_outside(const struct removal *removal, pid_t tid)
{
	const struct stopped thread = { .tid = tid };
	struct buf text = BUF_INIT(4096);
	struct thread_call call;
	bool is_outside = false;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (!proc_read(removal->task->pid, name, &text) && buf_string(&text) &&
	    thread_call_parse(&call, buf_string(&text)))
		is_outside = !is_inside(removal, &thread, call.pc, call.sp);
	buf_free(&text);
	return is_outside;
}

/* Look where the thread is. A call that it continues in the attached code ends, and it makes the call again in the program's
 * (attach/calls.c). */
static int check_thread(struct task *task, pid_t tid, void *context)
{
	char state = thread_state(task->pid, tid);
	struct removal *removal = context;
	struct stopped thread;
	int err;

	if (!state || strchr("ZX", state) || waits_outside(removal, tid))
		return -EAGAIN;
	err = thread_stop(&thread, task->pid, tid);
	if (err == -EAGAIN)
		removal->is_inside = true; /* not known: look again */
	if (err)
		return err == -ESRCH ? -EAGAIN : err;
	if (is_inside(removal, &thread, remote_pc(&thread.registers),
		      remote_sp(&thread.registers))) {
		removal->is_inside = true;
		remote_end_call(&thread.registers);
	}
	thread_continue(task->pid, &thread);
	return -EAGAIN;
}

static int unmap_all(void *context)
{
	const struct removal *removal = context;
	const struct attached_range *range = removal->range;
	const struct stopped *thread = &removal->task->thread;

	if (!stopped_block_signals(thread))
		return -ESRCH;
	unmap(thread, range->region, range->region_bytes);
	unmap(thread, range->start, range->bytes);
	return 0;
}

static int remove_range(struct task *task, const struct attached_range *range)
{
	uint64_t deadline = clock_monotonic_ns() + OUTSIDE_NS;
	struct removal removal = { .task = task, .range = range };
	int err;

	do {
		if (removal.is_inside)
			pause_briefly();
		removal.is_inside = false;
		err = threads_visit(task, check_thread, &removal);
	} while (err == -EAGAIN && removal.is_inside && clock_monotonic_ns() < deadline);
	if (err == -EAGAIN && removal.is_inside)
		return fail(
			task, -EBUSY,
			"a thread is still in the agent's code, in a handler of the program that "
			"has interrupted it; %zu KiB stay mapped",
			range->bytes >> 10);
	return err == -EAGAIN ? with_thread(task, unmap_all, &removal) : fail_to_stop(task, err);
}

/* ---- The process that traces ---- */

struct answer {
	int err;
	char problem[RUNNING_PROBLEM_MAX];
};

struct work {
	int (*function)(struct task *task, const void *context);
	const void *context;
};

static _Noreturn void child_run(pid_t pid, const struct work *work, int out)
{
	struct answer answer = { 0 };
	struct task task = { .pid = pid, .vdso = find_vdso(pid), .problem = answer.problem };
	sigset_t alarms;

	/* A program that keeps its thread from making calls gets it back. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(LIMIT_SECONDS);
	setsid();
	/* The program must not wait for a processor. This needs a privilege. */
	setpriority(PRIO_PROCESS, 0, -20);
	answer.err = work->function(&task, work->context);
	_exit(write(out, &answer, sizeof(answer)) != sizeof(answer));
}

/* Do WORK in a child. What it traces continues when it ends. */
static int run_once(pid_t pid, const struct work *work, struct answer *answer)
{
	sigset_t all, mask;
	int ends[2];
	pid_t child;
	ssize_t got;

	*answer = (struct answer){ .err = -ECHILD };
	strcpy(answer->problem, "cannot start a process that traces it");
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	child = fork();
	if (!child)
		child_run(pid, work, ends[1]);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	do
		got = read(ends[0], answer, sizeof(*answer));
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	answer->problem[RUNNING_PROBLEM_MAX - 1] = '\0';
	return answer->err;
}

static int run(pid_t pid, const struct work *work, char problem[RUNNING_PROBLEM_MAX])
{
	uint64_t deadline = clock_monotonic_ns() + SEARCH_NS;
	struct answer answer;
	int err;

	while ((err = run_once(pid, work, &answer)) == -EAGAIN || err == -ETIMEDOUT) {
		if (clock_monotonic_ns() > deadline)
			break;
		pause_briefly();
	}
	memcpy(problem, answer.problem, sizeof(answer.problem));
	return err;
}

/* Read the whole file before the program is stopped. */
static const unsigned char *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	void *file = MAP_FAILED;

	if (bytes > 0)
		file = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (fd >= 0)
		close(fd);
	return file == MAP_FAILED ? NULL : file;
}

static int attach(struct task *task, const void *context)
{
	const struct running_request *request = context;
	struct payload payload;
	struct injection in = { .task = task,
				.payload = &payload,
				.auxiliary = BUF_INIT(AUXILIARY_MAX),
				.strings = BUF_INIT(ENVIRONMENT_MAX),
				.block = BUF_INIT(12 * ENVIRONMENT_MAX) };
	int err;

	if (!remote_is_supported())
		return fail(task, -ENOSYS, "this processor is not supported");
	err = payload_open(&payload, request->payload);
	if (err)
		return fail(task, err, "%s: %s", request->payload, strerror(-err));
	in.file = map_file(request->payload);
	if (!in.file)
		return fail(task, -EIO, "%s cannot be read", request->payload);
	err = prepare(&in, request);
	return err ? err : with_thread(task, inject, &in);
}

static int detach(struct task *task, const void *context)
{
	return remove_range(task, context);
}

int running_attach(const struct running_request *request, char problem[RUNNING_PROBLEM_MAX])
{
	return run(request->pid, &(struct work){ attach, request }, problem);
}

int running_detach(pid_t pid, const struct attached_range *range, char problem[RUNNING_PROBLEM_MAX])
{
	return run(pid, &(struct work){ detach, range }, problem);
}
