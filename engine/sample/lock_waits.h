/* Sampled waits for locks, reported by the interposers of the C library's locks. In the program's threads.
 *
 * A wait is sampled if it lasts longer than a random delay, which is exponentially distributed. So a wait of length D is
 * sampled with probability 1 - exp(-D/interval); its weight is D divided by that. When the delay is over and the thread
 * still waits, it requests the stack of the lock's owner. It records its own stack after the wait.
 *
 * The args of a SAMPLE_LOCK are the address of the lock, and in ticks the duration and the weight. Its innermost frame is
 * the C library's function. */
#ifndef ENGINE_SAMPLE_LOCK_WAITS_H
#define ENGINE_SAMPLE_LOCK_WAITS_H

#include <stdbool.h>
#include <stdint.h>

struct lock_wait {
	uintptr_t lock;
	uintptr_t function; /* address of the C library's function that waits */
	uintptr_t
		owner_word; /* address of the word that has the owner's thread id in its low 30 bits; 0: none */
	uint64_t start_ticks, start_ns, delay_ns, interval_ns;
};

/* The highest number of owners that are interrupted in a second. */
#define LOCK_WAITS_PER_SECOND 100

/* Sample waits from now on, once per INTERVAL_NS on average; UINT64_MAX: none. Agent thread. */
void lock_waits_set_interval(uint64_t interval_ns);

/* The calling thread is about to wait. Sets all members but the addresses. Returns false if waits are not sampled. */
bool lock_wait_begin(struct lock_wait *wait);

/* The thread has waited for the delay, and waits on. The lock is not gone. */
void lock_wait_delayed(const struct lock_wait *wait);

/* The wait is over. */
void lock_wait_end(const struct lock_wait *wait);

#endif
