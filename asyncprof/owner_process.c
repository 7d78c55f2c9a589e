/* The process that loaded async-profiler. */
#include "asyncprof/owner_process.h"

#include <stdatomic.h>
#include <sys/types.h>

#include "core/system.h"

#define NO_OWNER (-1)

static _Atomic pid_t owner; /* 0: none yet */

void owner_process_set(void)
{
	atomic_store(&owner, system_process());
}

/* (In another namespace the child may have the same id.) */
void owner_process_reset_in_child(void)
{
	atomic_store(&owner, NO_OWNER);
}

bool owner_process_is_child(void)
{
	return atomic_load_explicit(&owner, memory_order_relaxed) == NO_OWNER;
}

bool owner_process_is_other(void)
{
	pid_t process = atomic_load_explicit(&owner, memory_order_relaxed);

	return process == NO_OWNER || (process && process != system_process());
}
