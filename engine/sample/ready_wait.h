/* How a thread's wait for descriptors ended, if a sample arrived in it: a wait of an event loop that ends by its timeout
 * waited for a timer, and otherwise for events. Other waits are not noted, so they cost nothing.
 *
 * In the program's threads; the interposers write it, and the handler reads it. */
#ifndef ENGINE_SAMPLE_READY_WAIT_H
#define ENGINE_SAMPLE_READY_WAIT_H

#include <stdint.h>

enum ready_wait_end {
	READY_WAIT_UNKNOWN,   /* no wait was interrupted, or it has not ended */
	READY_WAIT_READY,     /* a descriptor was ready, or the wait failed */
	READY_WAIT_TIMED_OUT, /* by its timeout */
};

/* The end of the wait that the calling thread's last wall-clock sample interrupted. */
extern __thread uint8_t ready_wait_end;

/* The end (enum ready_wait_end) of a wait with RESULT, as of epoll_wait(2). */
static inline uint8_t ready_wait_end_of(long result)
{
	return result ? READY_WAIT_READY : READY_WAIT_TIMED_OUT;
}

/* Two ends as the last of a sample's args: that of the wait which the sample before interrupted, and that of the call which
 * the thread was just leaving. */
static inline uint64_t ready_waits_pack(enum ready_wait_end before, enum ready_wait_end now)
{
	return (uint64_t)before | (uint64_t)now << 8;
}

static inline enum ready_wait_end ready_wait_before(uint64_t packed)
{
	return (enum ready_wait_end)(packed & 0xff);
}

static inline enum ready_wait_end ready_wait_now(uint64_t packed)
{
	return (enum ready_wait_end)(packed >> 8 & 0xff);
}

#endif
