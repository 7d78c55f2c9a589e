#include "attach/tracing/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/channel.h"
#include "attach/tracing/initial_stack.h"
#include "attach/tracing/own_code.h"
#include "attach/tracing/payload.h"
#include "attach/tracing/tracee.h"
#include "core/clock.h"
#include "core/memory/region.h"
#include "core/units.h"

#define PAGE STOPPED_PAGE

struct injection {
	struct tracee *tracee;
	const struct payload *payload;
	const unsigned char *file; /* the payload's */
	struct initial_stack stack;
	uintptr_t start; /* of the code, the payload with its stack, and the stack's block */
	uintptr_t payload_at, block_at, channel_at, region;
	size_t bytes, region_bytes;
};

/* How long the first thread may need to begin. */
#define BEGIN_NS SECONDS(5)

/* Choose addresses in the middle of the largest gap: the program, which maps and unmaps elsewhere, does not expect any there
 * to be free. */
static uintptr_t find_gap(struct tracee *tracee, size_t bytes)
{
	char path[64], line[512];
	uint64_t start, end, before = 0, gap = 0, at = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", tracee->pid);
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

/* What the agent reserves counts for the program's RLIMIT_AS. */
static size_t choose_region_bytes(pid_t pid)
{
	struct rlimit limit;
	size_t bytes = REGION_BYTES;

	if (!prlimit(pid, RLIMIT_AS, NULL, &limit) && limit.rlim_cur != RLIM_INFINITY)
		bytes = region_bytes_under(bytes, limit.rlim_cur);
	return bytes & ~(size_t)(PAGE - 1);
}

static int prepare(struct injection *in, const struct inject_request *request)
{
	struct tracee *tracee = in->tracee;
	const size_t own = OWN_CODE_BYTES + payload_mapped_bytes(in->payload);
	int err = initial_stack_read(&in->stack, tracee->pid, request->settings);

	if (err)
		return tracee_fail(tracee, err, "cannot read its environment: %s", strerror(-err));
	in->bytes = stopped_page_up(own + initial_stack_bytes(&in->stack));
	in->region_bytes = choose_region_bytes(tracee->pid);
	in->start = find_gap(tracee, in->bytes + in->region_bytes);
	if (!in->start)
		return tracee_fail(tracee, -ENOMEM, "it has no room of 1 GiB in its address space");
	in->payload_at = in->start + OWN_CODE_BYTES;
	in->block_at = in->start + own;
	in->channel_at = in->block_at - ((sizeof(struct attach_channel) + 15) & ~(uintptr_t)15);
	in->region = in->start + in->bytes;
	return initial_stack_write(&in->stack, in->block_at)
		       ? tracee_fail(tracee, -ENOMEM, "out of memory")
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
	/* Before Linux 4.17. */
	stopped_unmap(caller, (uintptr_t)got, bytes);
	return -EEXIST;
}

static int write_segment(const struct injection *in, const Elf64_Phdr *segment, int memory)
{
	return pwrite(memory, in->file + segment->p_offset, segment->p_filesz,
		      (off_t)(in->payload_at + segment->p_vaddr)) == (ssize_t)segment->p_filesz
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

/* The tracer writes to the pages while they are executable: a program that has PR_SET_MDWE, as by systemd's
 * MemoryDenyWriteExecute=, can remove that permission, but never add it. */
static int write_payload(const struct stopped *caller, const struct injection *in)
{
	const struct payload *payload = in->payload;
	const uintptr_t at = in->payload_at;
	int memory = tracee_open(in->tracee->pid, "mem", O_WRONLY);
	int err = memory < 0 ? -errno : 0;

	for (size_t i = 0; !err && i < payload->count; i++)
		err = write_segment(in, &payload->segments[i], memory);
	if (memory >= 0)
		close(memory);
	if (!err)
		err = protect(caller, at + payload->bytes, in->start + in->bytes,
			      PROT_READ | PROT_WRITE);
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
					  .region = in->region,
					  .region_bytes = in->region_bytes };
	const uintptr_t at = in->channel_at;
	struct remote_registers registers = caller->registers;
	long tid;

	if (!stopped_write(caller, in->block_at, in->stack.block.data, in->stack.block.length) ||
	    !stopped_write(caller, at, &channel, sizeof(channel)))
		return -EFAULT;
	remote_set_call(&registers, caller->call, SYS_clone,
			(const long[6]){ PAYLOAD_THREAD_FLAGS, (long)at });
	remote_set_entry(&registers, in->block_at + in->stack.words, at);
	remote_set_code(&registers, in->start + REMOTE_FRAME_OFFSET,
			in->payload_at + in->payload->entry + ARCH_SYSTEM_CALL_BYTES);
	tid = stopped_step(caller, &registers, caller->call);
	return stopped_call_failed(tid) ? (int)tid : 0;
}

/* The steps in which the thread makes calls by the code. */
static int inject_by_code(const struct injection *in)
{
	struct stopped caller;
	int err = -ESRCH;

	if (own_code_enter(in->tracee, in->start, &caller))
		err = write_payload(&caller, in);
	if (!err)
		err = map_at(&caller, in->region, in->region_bytes, PROT_NONE);
	if (err)
		return err;
	err = start_thread(&caller, in);
	if (err)
		stopped_unmap(&caller, in->region, in->region_bytes);
	return err;
}

/* Make calls by the vDSO, with signals blocked. If the tracer ends meanwhile, the program is lost. */
static int map_first(const struct injection *in)
{
	const struct stopped *thread = &in->tracee->thread;
	int err = stopped_block_signals(thread) ? 0 : -ESRCH;

	if (!err)
		err = map_at(thread, in->start, in->bytes, PROT_READ | PROT_EXEC);
	stopped_restore(thread);
	return err;
}

static int inject(void *context)
{
	const struct injection *in = context;
	const struct stopped *thread = &in->tracee->thread;
	int err = map_first(in);

	if (err)
		return err;
	err = own_code_write(in->tracee, in->start);
	if (!err)
		err = inject_by_code(in);
	if (!err)
		return 0;
	stopped_block_signals(thread);
	stopped_unmap(thread, in->start, in->bytes);
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

/* Until the next command finds the agent by the name of its thread. The process may end meanwhile, or be stopped. */
static bool await_name(const struct injection *in)
{
	const uintptr_t at = in->channel_at + offsetof(struct attach_channel, is_named);
	const struct stopped process = { .tid = in->tracee->pid };
	uint64_t deadline = clock_monotonic_ns() + BEGIN_NS;
	uint32_t is_named = 0;

	while (stopped_read(&process, at, &is_named, sizeof(is_named)) && !is_named &&
	       tracee_thread_state(process.tid, process.tid) != 'T' &&
	       clock_monotonic_ns() < deadline)
		tracee_pause();
	return is_named;
}

int inject_agent(struct tracee *tracee, const void *context)
{
	const struct inject_request *request = context;
	struct payload payload;
	struct injection in = { .tracee = tracee,
				.payload = &payload,
				.stack = INITIAL_STACK_INIT };
	int err;

	/* Another command may have been faster since the caller's look. */
	if (tracee_has_agent(tracee))
		return tracee_fail(tracee, -EALREADY, "it is profiled already");
	err = payload_open(&payload, request->payload);
	if (err)
		return tracee_fail(tracee, err, "%s: %s", request->payload, strerror(-err));
	in.file = map_file(request->payload);
	if (!in.file)
		return tracee_fail(tracee, -EIO, "%s cannot be read", request->payload);
	err = prepare(&in, request);
	if (!err)
		err = tracee_check_dispatch(tracee);
	if (!err)
		err = tracee_with_thread(tracee, inject, &in);
	if (!err)
		tracee->has_begun = await_name(&in);
	return err;
}
