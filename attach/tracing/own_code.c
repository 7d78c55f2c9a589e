#include "attach/tracing/own_code.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int own_code_write(const struct tracee *tracee, uintptr_t start)
{
	static unsigned char code[OWN_CODE_BYTES];
	struct remote_registers restarted = tracee->thread.registers;
	long bytes;
	int fd, err;

	remote_restart_call(&restarted);
	memcpy(code, remote_code, REMOTE_CODE_BYTES);
	bytes = remote_write_frame(code + REMOTE_FRAME_OFFSET, start + REMOTE_FRAME_OFFSET,
				   tracee->thread.tid, &restarted, tracee->thread.mask);
	if (bytes < 0)
		return (int)bytes;
	fd = tracee_open(tracee->pid, "mem", O_WRONLY);
	if (fd < 0)
		return -errno;
	bytes += REMOTE_FRAME_OFFSET;
	err = pwrite(fd, code, (size_t)bytes, (off_t)start) == bytes ? 0 : -EIO;
	close(fd);
	return err;
}

/* The code restores the signal mask too, so the thread has its registers before the signals are blocked. */
bool own_code_enter(const struct tracee *tracee, uintptr_t start, struct stopped *caller)
{
	struct remote_registers first;

	*caller = tracee->thread;
	caller->call = start;
	remote_set_code(&caller->registers, start + REMOTE_FRAME_OFFSET, 0);
	first = caller->registers;
	remote_set_call(&first, caller->call, SYS_getpid, (const long[6]){ 0 });
	return !remote_set(caller->tid, &first) && stopped_block_signals(caller);
}
