/* Rate of the timestamp counter in ticks per second, calibrated once against the monotonic
 * clock. */
#ifndef ENGINE_COLLECT_TICK_RATE_H
#define ENGINE_COLLECT_TICK_RATE_H

#include <stdint.h>

struct tick_pair {
	uint64_t ticks, ns; /* read at the same moment; NS 0: none */
};

/* Zeroed before the first call. */
struct tick_rate {
	struct tick_pair first, last;
	uint64_t calibrated; /* 0: not yet */
	uint64_t other;      /* measured since the last reading, and not CALIBRATED; 0: none */
};

/* Update RATE with the readings NOW. Returns the rate; 0 while it is unknown. The rate is fixed by
 * the first call that comes at least a second after another. It is calibrated again if two such
 * calls find the same other rate, by more than a thousandth: then the counter is not invariant, or
 * the process has moved to another machine. */
uint64_t tick_rate_at(struct tick_rate *rate, struct tick_pair now);

/* Read both clocks and return the rate of the whole process. In the agent's thread. */
uint64_t tick_rate_now(void);

/* Convert a duration in TICKS to nanoseconds, at that rate; 0 while it is unknown. */
uint64_t tick_rate_ns(uint64_t ticks);

#endif
