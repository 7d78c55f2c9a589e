#include "attach/tracing/remove.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/channel.h"
#include "attach/thread_area.h"
#include "attach/tracing/own_code.h"
#include "core/clock.h"
#include "core/shared.h"
#include "core/units.h"
#include "engine/sample/thread_call.h"

/* How long threads may be in the attached code. */
#define OUTSIDE_NS SECONDS(10)

struct removal {
	struct tracee *tracee;
	const struct attached_range *range;
	bool is_inside; /* a thread was in the attached code */

	/* Ids of the threads that continue a call; of this look at all threads. */
	struct buf continuing;
	bool is_continuing_known;
};

static bool is_in(uintptr_t address, uintptr_t start, size_t bytes)
{
	return address - start < bytes;
}

/* One read for each block: there may be thousands of threads. */
static int find_continuing(struct removal *removal, const struct stopped *thread)
{
	const struct attached_range *range = removal->range;
	size_t bytes = range->block_areas * range->area_bytes;
	char *copy = malloc(bytes);
	struct thread_area area;
	uintptr_t block;
	int err = copy ? 0 : -ENOMEM;

	removal->continuing.length = 0;
	for (size_t i = 0; !err && i < range->area_blocks; i++) {
		if (!stopped_read(thread, range->areas + i * sizeof(block), &block, sizeof(block)))
			break;
		if (!block || !stopped_read(thread, block, copy, bytes))
			continue;
		for (size_t k = 0; !err && k < range->block_areas; k++) {
			memcpy(&area, copy + k * range->area_bytes, sizeof(area));
			if (area.frame)
				err = buf_append(&removal->continuing, &area.tid, sizeof(area.tid));
		}
	}
	free(copy);
	return err;
}

static bool is_continuing(struct removal *removal, const struct stopped *thread)
{
	pid_t tid;

	if (!removal->is_continuing_known && find_continuing(removal, thread))
		return true;
	removal->is_continuing_known = true;
	for (size_t i = 0; i < removal->continuing.length; i += sizeof(tid)) {
		memcpy(&tid, removal->continuing.data + i, sizeof(tid));
		if (tid == thread->tid)
			return true;
	}
	return false;
}

static bool is_in_code(const struct removal *removal, uintptr_t pc)
{
	const struct attached_range *range = removal->range;

	return is_in(pc, range->start, range->bytes) ||
	       is_in(pc, range->region, range->region_bytes);
}

/* A thread that continues a call may also be in a handler of the program that has interrupted it, on any stack. (If that
 * handler has left it by longjmp(3), the memory stays mapped.) */
static bool is_inside(struct removal *removal, const struct stopped *thread, uintptr_t pc)
{
	return is_in_code(removal, pc) || is_continuing(removal, thread);
}

/* True if thread TID waits in a system call of the program. It does not notice the look. */
static bool waits_outside(struct removal *removal, pid_t tid)
{
	const struct stopped thread = { .tid = tid };
	struct buf text = BUF_INIT(4096);
	struct thread_call call;
	bool is_outside = false;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (!tracee_read(removal->tracee->pid, name, &text) && buf_string(&text) &&
	    thread_call_parse(&call, buf_string(&text)))
		is_outside = !is_inside(removal, &thread, call.pc);
	buf_free(&text);
	return is_outside;
}

/* Look where the thread is. A call that it continues in the attached code ends, and it makes the call again in the program's
 * (attach/calls.c). */
static int check_thread(struct tracee *tracee, pid_t tid, void *context)
{
	char state = tracee_thread_state(tracee->pid, tid);
	struct removal *removal = context;
	struct stopped thread;
	int err;

	if (!state || strchr("ZX", state) || waits_outside(removal, tid))
		return -EAGAIN;
	err = tracee_stop_thread(&thread, tracee->pid, tid);
	if (err == -EAGAIN)
		removal->is_inside = true; /* not known: look again */
	if (err)
		return err == -ESRCH ? -EAGAIN : err;
	if (is_inside(removal, &thread, remote_pc(&thread.registers)))
		removal->is_inside = true;
	if (is_in_code(removal, remote_pc(&thread.registers)))
		remote_end_call(&thread.registers);
	tracee_continue_thread(&thread);
	return -EAGAIN;
}

/* Return the first executable pages of the memory that have room for the code; 0: none. The process names that memory, so it
 * must not be another program's code, or wait for a file. */
static uintptr_t find_executable(const struct removal *removal)
{
	const struct attached_range *range = removal->range;
	uintptr_t found = 0, start, end;
	char path[64], line[512], access[5];
	unsigned long inode;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", removal->tracee->pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &start, &end, access,
			   &inode) == 4 &&
		    !strcmp(access, "r-xp") && !inode && is_in(start, range->start, range->bytes) &&
		    end - start >= OWN_CODE_BYTES)
			found = start;
	if (maps)
		fclose(maps);
	return found;
}

/* All but the pages of the code at CODE, which makes these calls. */
static int unmap_by_code(const struct removal *removal, uintptr_t code)
{
	const struct attached_range *range = removal->range;
	uintptr_t after = code + OWN_CODE_BYTES;
	struct stopped caller;

	if (!own_code_enter(removal->tracee, code, &caller))
		return -ESRCH;
	stopped_unmap(&caller, range->region, range->region_bytes);
	if (code > range->start)
		stopped_unmap(&caller, range->start, code - range->start);
	stopped_unmap(&caller, after, range->start + range->bytes - after);
	return 0;
}

/* The pages of the code are unmapped by the vDSO, with signals blocked: if the tracer ends then, the program is lost. */
static int unmap_all(void *context)
{
	const struct removal *removal = context;
	const struct stopped *thread = &removal->tracee->thread;
	uintptr_t code = find_executable(removal);
	int err = code ? own_code_write(removal->tracee, code) : -ENOENT;

	if (!err)
		err = unmap_by_code(removal, code);
	stopped_restore(thread);
	if (!err && stopped_block_signals(thread))
		stopped_unmap(thread, code, OWN_CODE_BYTES);
	return err;
}

int remove_agent(struct tracee *tracee, const void *context)
{
	const struct attached_range *range = context;
	uint64_t deadline = clock_monotonic_ns() + OUTSIDE_NS;
	struct removal removal = { .tracee = tracee,
				   .range = range,
				   .continuing = BUF_INIT(SIZE_MAX) };
	int err;

	do {
		if (removal.is_inside)
			tracee_pause();
		removal.is_inside = removal.is_continuing_known = false;
		err = tracee_visit_threads(tracee, check_thread, &removal);
	} while (err == -EAGAIN && removal.is_inside && clock_monotonic_ns() < deadline);
	buf_free(&removal.continuing);
	if (err == -EAGAIN && removal.is_inside)
		return tracee_fail(
			tracee, -EBUSY,
			"a thread is still in the agent's code, in a handler of the program that "
			"has interrupted it; %zu KiB stay mapped",
			range->bytes >> 10);
	return err == -EAGAIN ? tracee_with_thread(tracee, unmap_all, &removal)
			      : tracee_fail_to_stop(tracee, err);
}
