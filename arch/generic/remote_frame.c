/* Fallback: no program can be traced. */
#include "arch/remote.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

const unsigned char remote_code[REMOTE_CODE_BYTES];

void remote_continue_call(struct remote_registers *registers)
{
}

void remote_restart_call(struct remote_registers *registers)
{
}

bool remote_end_call(struct remote_registers *registers)
{
	return false;
}

long remote_write_frame(unsigned char frame[REMOTE_FRAME_MAX], uintptr_t address, pid_t tid,
			const struct remote_registers *registers, uint64_t mask)
{
	return -ENOSYS;
}

void remote_set_code(struct remote_registers *registers, uintptr_t frame, uintptr_t entry)
{
}
