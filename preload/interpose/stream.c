/* Reads and writes of streams on sockets with a timeout, restarted after a sample. */
#include "preload/interpose/stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/loaded_symbol.h"
#include "arch/arch.h"
#include "preload/interpose/real.h"
#include "preload/interpose/transfer.h"

/* Maximum distance from an interposer's frame to its system call in the C library. */
#define OWN_FRAMES 1024

static struct code {
	long number;
	int option;
	uintptr_t start, size;
} codes[] = {
	{ .number = SYS_read, .option = SO_RCVTIMEO },
	{ .number = SYS_write, .option = SO_SNDTIMEO },
};

static void code_find(struct code *code, const char *name)
{
	struct loaded_symbol symbol = loaded_symbol_next(name);

	code->start = (uintptr_t)symbol.address;
	__atomic_store_n(&code->size, symbol.size, __ATOMIC_RELEASE);
}

void stream_find_code(void)
{
	if (!ARCH_ARGUMENT_REMAINS)
		return;
	code_find(&codes[0], "read");
	code_find(&codes[1], "write");
}

static const struct code *code_at(uintptr_t pc)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (pc - codes[i].start < __atomic_load_n(&codes[i].size, __ATOMIC_ACQUIRE))
			return &codes[i];
	return NULL;
}

/* Milliseconds are stored in 31 bits. */
#define MS_BITS 0x7fffffffu

static uint32_t now_ms(void)
{
	return (uint32_t)(clock_monotonic_ns() / 1000000) & MS_BITS;
}

/* Returns 0 without a timeout. */
static uint32_t timeout_ms(int fd, int option)
{
	struct timeval timeout = { 0 };
	socklen_t length = sizeof(timeout);
	long err = kernel_call6(SYS_getsockopt, fd, SOL_SOCKET, option, (long)&timeout,
				(long)&length, 0);

	if (err || timeout.tv_sec > MS_BITS / 4000)
		return 0;
	return (uint32_t)(timeout.tv_sec * 1000 + (timeout.tv_usec + 999) / 1000);
}

/* The descriptor is the lower half of a register; the kernel and the C library ignore the upper half. A restarted
 * call stores its end there, with the highest bit set. Any other place would outlive the call, and could be mistaken
 * for the next call's. */
#define MARKED 0x80000000u

static uint32_t left_ms(uint32_t mark, uint32_t timeout, uint32_t now)
{
	uint32_t left = (mark - now) & MS_BITS;

	if (!(mark & MARKED))
		return timeout + 1; /* the first sample: a millisecond may be almost over */
	if (left <= timeout + 1)
		return left;
	return left > MS_BITS / 2 ? 0
				  : timeout + 1; /* the timeout is over, or it is not our mark */
}

bool stream_restart_call(ucontext_t *context)
{
	uint64_t first = (uint64_t)CONTEXT_ARGUMENT1(context);
	const struct code *code;
	uint32_t timeout, now, left;

	if (!ARCH_ARGUMENT_REMAINS || !__atomic_load_n(&transfer_has_timeouts, __ATOMIC_RELAXED) ||
	    (long)CONTEXT_RESULT(context) != -EINTR ||
	    (transfer_frame && transfer_frame - (uintptr_t)CONTEXT_SP(context) < OWN_FRAMES))
		return false;
	code = code_at((uintptr_t)CONTEXT_PC(context));
	timeout = code ? timeout_ms((int)first, code->option) : 0;
	if (!timeout)
		return false;
	now = now_ms();
	left = left_ms((uint32_t)(first >> 32), timeout, now);
	if (!left) {
		CONTEXT_RESULT(context) = (__typeof__(CONTEXT_RESULT(context)))-EAGAIN;
		return true;
	}
	first = (uint64_t)(((now + left) & MS_BITS) | MARKED) << 32 | (uint32_t)first;
	CONTEXT_ARGUMENT1(context) = (__typeof__(CONTEXT_ARGUMENT1(context)))first;
	CONTEXT_NUMBER(context) = (__typeof__(CONTEXT_NUMBER(context)))code->number;
	CONTEXT_PC(context) -= ARCH_SYSTEM_CALL_BYTES;
	return true;
}
