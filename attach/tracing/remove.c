#include "attach/tracing/remove.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/channel.h"
#include "attach/thread_area.h"
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
	if (!tracee_read(removal->tracee->pid, name, &text) && buf_string(&text) &&
	    thread_call_parse(&call, buf_string(&text)))
		is_outside = !is_inside(removal, &thread, call.pc, call.sp);
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
	if (is_inside(removal, &thread, remote_pc(&thread.registers),
		      remote_sp(&thread.registers))) {
		removal->is_inside = true;
		remote_end_call(&thread.registers);
	}
	tracee_continue_thread(tracee->pid, &thread);
	return -EAGAIN;
}

static int unmap_all(void *context)
{
	const struct removal *removal = context;
	const struct attached_range *range = removal->range;
	const struct stopped *thread = &removal->tracee->thread;

	if (!stopped_block_signals(thread))
		return -ESRCH;
	stopped_unmap(thread, range->region, range->region_bytes);
	stopped_unmap(thread, range->start, range->bytes);
	return 0;
}

int remove_agent(struct tracee *tracee, const void *context)
{
	const struct attached_range *range = context;
	uint64_t deadline = clock_monotonic_ns() + OUTSIDE_NS;
	struct removal removal = { .tracee = tracee, .range = range };
	int err;

	do {
		if (removal.is_inside)
			tracee_pause();
		removal.is_inside = false;
		err = tracee_visit_threads(tracee, check_thread, &removal);
	} while (err == -EAGAIN && removal.is_inside && clock_monotonic_ns() < deadline);
	if (err == -EAGAIN && removal.is_inside)
		return tracee_fail(
			tracee, -EBUSY,
			"a thread is still in the agent's code, in a handler of the program that "
			"has interrupted it; %zu KiB stay mapped",
			range->bytes >> 10);
	return err == -EAGAIN ? tracee_with_thread(tracee, unmap_all, &removal)
			      : tracee_fail_to_stop(tracee, err);
}
