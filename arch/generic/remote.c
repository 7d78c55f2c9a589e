/* Fallback: no program can be traced. */
#include "arch/remote.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

bool remote_is_supported(void)
{
	return false;
}

int remote_get(pid_t tid, struct remote_registers *registers)
{
	return -ENOSYS;
}

int remote_set(pid_t tid, const struct remote_registers *registers)
{
	return -ENOSYS;
}

void remote_set_call(struct remote_registers *registers, uintptr_t pc, long number,
		     const long arguments[6])
{
}

void remote_set_entry(struct remote_registers *registers, uintptr_t initial_stack,
		      uintptr_t channel)
{
}

void remote_set_hold(struct remote_registers *registers, uintptr_t pc, uintptr_t released,
		     uintptr_t mask)
{
}

uintptr_t remote_pc(const struct remote_registers *registers)
{
	return 0;
}

uintptr_t remote_sp(const struct remote_registers *registers)
{
	return 0;
}

long remote_result(const struct remote_registers *registers)
{
	return -ENOSYS;
}
