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

static bool has_changed(const struct tick_rate *rate, struct tick_pair now)
{
	uint64_t lately = rate_between(rate->last, now), most = rate->calibrated / 1000;

	return lately > rate->calibrated + most || lately < rate->calibrated - most;
}

uint64_t tick_rate_at(struct tick_rate *rate, struct tick_pair now)
{
	if (!rate->first.ns || (!rate->calibrated && now.ticks < rate->first.ticks))
		rate->first = rate->last = now;
	if (is_long_enough(rate->last, now)) {
		if (rate->calibrated && has_changed(rate, now)) {
			rate->first = rate->last;
			rate->calibrated = 0;
		}
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
