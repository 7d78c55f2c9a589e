/* Rate of the timestamp counter, calibrated once against the monotonic clock. */
#include "engine/collect/tick_rate.h"

#include <stdbool.h>

#include "core/clock.h"

#define SECOND_NS 1000000000u

/* Both clocks must be read within this time; otherwise they are read again. */
#define PAIR_NS    2000u
#define PAIR_TRIES 5

static struct tick_rate process;

static bool is_long_enough(struct tick_pair a, struct tick_pair b)
{
	return a.ns && b.ns >= a.ns + SECOND_NS;
}

static uint64_t rate_between(struct tick_pair a, struct tick_pair b)
{
	if (!a.ns || b.ns <= a.ns || b.ticks <= a.ticks)
		return 0;
	return (uint64_t)((unsigned __int128)(b.ticks - a.ticks) * SECOND_NS / (b.ns - a.ns));
}

static bool differs(uint64_t rate, uint64_t from)
{
	return rate > from + from / 1000 || rate < from - from / 1000;
}

/* LATELY is the rate since the last reading. While a machine is suspended, the monotonic clock stands still, and the
 * counter may run on or begin again. So a new rate counts when it was measured twice. */
static void tick_rate_compare(struct tick_rate *rate, uint64_t lately)
{
	if (!rate->calibrated || !differs(lately, rate->calibrated)) {
		rate->other = 0;
		return;
	}
	if (lately && !differs(lately, rate->other))
		rate->calibrated = lately;
	rate->other = lately;
}

uint64_t tick_rate_at(struct tick_rate *rate, struct tick_pair now)
{
	if (!rate->first.ns || (!rate->calibrated && now.ticks < rate->first.ticks))
		rate->first = rate->last = now;
	if (is_long_enough(rate->last, now)) {
		tick_rate_compare(rate, rate_between(rate->last, now));
		rate->last = now;
	}
	if (!rate->calibrated && is_long_enough(rate->first, now))
		rate->calibrated = rate_between(rate->first, now);
	return rate->calibrated ? rate->calibrated : rate_between(rate->first, now);
}

uint64_t tick_rate_now(void)
{
	struct tick_pair pair;
	uint64_t before;
	int tries = PAIR_TRIES;

	do {
		before = clock_monotonic_ns();
		pair.ticks = clock_ticks();
		pair.ns = clock_monotonic_ns();
	} while (pair.ns - before > PAIR_NS && --tries);
	return tick_rate_at(&process, pair);
}

uint64_t tick_rate_ns(uint64_t ticks)
{
	uint64_t rate = tick_rate_now();

	return rate ? (uint64_t)((double)ticks * 1e9 / (double)rate) : 0;
}
