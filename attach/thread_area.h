/* Thread-local variables of the attached host's side.
 *
 * The program's threads have no room for them. So the agent allocates an area for each thread, with the layout that the
 * linker has chosen. The thread pointer leads to it while a thread runs code of the attached side. */
#ifndef ATTACH_THREAD_AREA_H
#define ATTACH_THREAD_AREA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that thread_area_init() needs. */
size_t thread_area_bytes(void);

/* Write the initial values to AREA, which is aligned to 64 bytes. Returns the thread pointer. Async-signal-safe. */
uintptr_t thread_area_init(void *area);

/* A thread's area. */
struct thread_area {
	_Atomic pid_t tid;
	uintptr_t pointer; /* the thread pointer */
	/* Address of the handler's frame while a call continues in it (attach/calls.h); else 0. */
	_Atomic uintptr_t frame;
	char *stack; /* of thread_area_stack_top(); also for the next thread that has this area */
};

/* The program's thread pointer, while a handler runs in the calling thread; see engine/reading/program_thread.h. */
extern __thread uintptr_t attached_thread_pointer;

struct attached_range; /* core/shared.h */

/* Set the members of RANGE that describe the areas. */
void thread_area_describe(struct attached_range *range);

/* Return the area of thread TID, which has the slot INDEX (engine/sample/thread_slots.h); NULL without memory. For the
 * thread itself. Another thread that had this slot leaves no values. If it still continues a call on that area's stack,
 * this is a spare area. Async-signal-safe. */
struct thread_area *thread_area_of(uint32_t index, pid_t tid);

/* Return the upper end of a stack of 64 KiB in AREA, the calling thread's; 0 without memory. Async-signal-safe. */
uintptr_t thread_area_stack_top(struct thread_area *area);

#endif
