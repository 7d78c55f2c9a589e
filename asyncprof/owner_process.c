/* The process that async-profiler was loaded in. */
#include "asyncprof/owner_process.h"

#include <stdatomic.h>
#include <sys/types.h>

#include "core/system.h"

#define NOWHERE (-1)

static _Atomic pid_t home; /* 0: it has none yet */

void owner_process_set(void)
{
	atomic_store(&home, system_process());
}

/* (Its number may be the same, in a namespace of its own.) */
void owner_process_reset_in_child(void)
{
	atomic_store(&home, NOWHERE);
}

bool owner_process_is_parent(void)
{
	pid_t process = atomic_load_explicit(&home, memory_order_relaxed);

	return process && process != system_process();
}
