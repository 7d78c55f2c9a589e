/* Ends profiling before a sandbox: the agent's threads and our handlers make system calls that the program's filter
 * does not permit. */
#include "preload/interpose/sandbox.h"

#include <linux/filter.h>
#include <stdatomic.h>

#include "engine/reading/memory_reader.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"

/* The kernel refuses a filter that it cannot read. */
static bool is_filter(const void *argument)
{
	struct sock_fprog filter;
	uintptr_t code, last;

	if (!memory_copy(&filter, (uintptr_t)argument, sizeof(filter)) || !filter.len ||
	    filter.len > BPF_MAXINSNS)
		return false;
	code = (uintptr_t)filter.filter;
	last = code + filter.len * sizeof(*filter.filter) - 1;
	for (uintptr_t at = code; at < last; at += MEMORY_PAGE)
		if (!memory_probe(at))
			return false;
	return memory_probe(last);
}

static atomic_bool is_entered;

bool sandbox_is_entered(void)
{
	return atomic_load_explicit(&is_entered, memory_order_relaxed);
}

void sandbox_begin(bool has_filter, const void *filter)
{
	const struct interpose_hooks *hooks = hooks_get();
	bool armed = exit_is_armed();

	if (!hooks || (has_filter && !is_filter(filter)))
		return;
	if (!exit_is_vfork_child())
		atomic_store(&is_entered, true);
	hooks->before_sandbox(armed);
	fatal_remove();
	if (armed) /* memory of a child of vfork(2) is its parent's */
		exit_disarm();
}

static atomic_bool dispatches;

void dispatch_begin(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	bool armed = exit_is_armed();

	if (hooks) {
		hooks->before_syscall_dispatch(armed);
		fatal_remove();
	}
	if (armed)
		exit_disarm();
	interpose_set_hooks(NULL);
	atomic_store(&dispatches, true);
}

bool dispatch_is_on(void)
{
	return atomic_load_explicit(&dispatches, memory_order_relaxed);
}
