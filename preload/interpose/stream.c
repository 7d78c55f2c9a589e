/* Reads and writes of streams on sockets that have a timeout, made again behind a sample. */
#include "preload/interpose/stream.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/loaded_symbol.h"
#include "preload/interpose/context.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample_note.h"
#include "preload/interpose/transfer.h"

#if defined(__x86_64__)
#define SYSCALL_BYTES 2

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

/* Milliseconds, by 31 bits. */
#define MS_BITS 0x7fffffffu

static uint32_t now_ms(void)
{
	return (uint32_t)(clock_monotonic_ns() / 1000000) & MS_BITS;
}

/* 0 for none. */
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

/* The descriptor is half a register; the other half, which the kernel and the C library ignore, is
 * where the call made again keeps its end, with the highest bit set. No other place goes away
 * with the call, and would not be mistaken for that of the next one. */
#define MARKED 0x80000000u

static uint32_t left_ms(uint32_t mark, uint32_t timeout, uint32_t now)
{
	uint32_t left = (mark - now) & MS_BITS;

	if (!(mark & MARKED))
		return timeout + 1; /* the first sample: NOW may be almost over */
	if (left <= timeout + 1)
		return left;
	return left > MS_BITS / 2 ? 0 : timeout + 1; /* over; or not our mark */
}

bool stream_restart_call(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	uint64_t first = (uint64_t)registers[REG_RDI];
	const struct code *code;
	uint32_t timeout, now, left;

	if (!__atomic_load_n(&transfer_has_timeouts, __ATOMIC_RELAXED) ||
	    registers[REG_RAX] != -EINTR ||
	    (transfer_frame && transfer_frame - (uintptr_t)CONTEXT_SP(context) < SAMPLE_NEAR))
		return false;
	code = code_at((uintptr_t)CONTEXT_PC(context));
	timeout = code ? timeout_ms((int)first, code->option) : 0;
	if (!timeout)
		return false;
	now = now_ms();
	left = left_ms((uint32_t)(first >> 32), timeout, now);
	if (!left) {
		registers[REG_RAX] = -EAGAIN;
		return true;
	}
	registers[REG_RDI] =
		(greg_t)((uint64_t)(((now + left) & MS_BITS) | MARKED) << 32 | (uint32_t)first);
	registers[REG_RAX] = code->number;
	registers[REG_RIP] -= SYSCALL_BYTES;
	return true;
}
#elif defined(__aarch64__)
void stream_find_code(void)
{
}

bool stream_restart_call(ucontext_t *context)
{
	(void)context;
	return false;
}
#endif
