/* Selects the sampled allocations: slow path of the countdown, and the arithmetic.
 *
 * The library depends on the C library only, so it does not use libm. */
#include "engine/memory/mem_sample.h"

#include <stdatomic.h>

#include "core/clock.h"
#include "core/own_thread.h"

/* While sampling is off, a thread checks the settings after so many bytes. */
#define POLL_BYTES 65536

_Atomic bool mem_looking;
__thread struct mem_thread mem_thread;

static struct {
	_Atomic uint32_t epoch; /* odd while sampling is on */
	_Atomic uint64_t interval;
	_Atomic uint64_t cap; /* maximum of a countdown */
} settings = { .cap = UINT64_MAX - 1 };

/* xorshift64* by Marsaglia and Vigna. The seed is the clock and the thread's address, mixed as in
 * splitmix64. */
static uint64_t random_next(struct mem_thread *t)
{
	uint64_t x = t->random;

	if (!x) {
		x = clock_ticks() + (uint64_t)(uintptr_t)t * 0x9e3779b97f4a7c15u;
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
		x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
		x |= 1;
	}
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->random = x;
	return x * 0x2545f4914f6cdd1du;
}

/* -ln(u) for u in (0, 1]: the exponent separately, and for m in [1, 2) the series ln m = 2 (z +
 * z^3/3 + z^5/5 + …), z = (m - 1) / (m + 1) <= 1/3. */
static double minus_log(double u)
{
	union {
		double value;
		uint64_t bits;
	} m = { .value = u };
	int exponent = (int)(m.bits >> 52) - 1023;
	double z, square, sum = 0;

	m.bits = (m.bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
	z = (m.value - 1) / (m.value + 1);
	square = z * z;
	for (int k = 17; k >= 1; k -= 2)
		sum = sum * square + 1.0 / k;
	return -(exponent * 0.693147180559945309417 + 2 * z * sum);
}

/* 1 - exp(-x) for x >= 0. Taylor series of the argument, which is halved until it is small. Then 1
 * - exp(-2y) = q (2 - q) with q = 1 - exp(-y), which keeps the precision for small x. */
static double one_minus_exp(double x)
{
	double term, sum = 0;
	int halved = 0;

	if (x > 40)
		return 1;
	for (; x > 0.25; halved++)
		x /= 2;
	term = x;
	for (int k = 2; k < 12; k++) {
		sum += term;
		term *= -x / k;
	}
	while (halved--)
		sum *= 2 - sum;
	return sum;
}

static uint64_t countdown_draw(struct mem_thread *t, uint64_t interval)
{
	double u = (double)((random_next(t) >> 11) + 1) * 0x1p-53;
	double bytes = minus_log(u) * (double)interval;

	return bytes < 0x1p63 ? (uint64_t)bytes : INT64_MAX;
}

bool mem_sample_due(size_t size)
{
	struct mem_thread *t = &mem_thread;
	uint32_t epoch = atomic_load_explicit(&settings.epoch, memory_order_acquire);
	uint64_t interval = atomic_load_explicit(&settings.interval, memory_order_relaxed);
	uint64_t cap = atomic_load_explicit(&settings.cap, memory_order_relaxed);
	uint64_t beyond = size - t->left, next;
	bool sampled = true;

	if (t->inside)
		return false;
	/* A thread of the agent, or a thread that is creating one. */
	if (!(epoch & 1) || own_thread_is()) {
		t->left = cap < POLL_BYTES ? cap : POLL_BYTES;
		return false;
	}
	if (!interval) {
		t->left = 0;
		return true;
	}
	/* A countdown of other settings is not valid with these. If a countdown was capped, the
	 * remaining distance has the same distribution as any. */
	if (t->epoch != epoch) {
		t->epoch = epoch;
		t->capped = true;
		beyond = size;
	}
	next = countdown_draw(t, interval);
	if (t->capped) {
		sampled = next < beyond;
		next = sampled ? countdown_draw(t, interval) : next - beyond;
	}
	t->capped = next > cap;
	t->left = t->capped ? cap : next;
	return sampled;
}

void mem_look(void)
{
	atomic_store(&mem_looking, true);
}

/* The setting is never off in between: a thread that checked it then would not check again for
 * long. */
void mem_sample_on(uint64_t interval)
{
	uint32_t epoch = atomic_load(&settings.epoch);

	atomic_store(&settings.interval, interval);
	atomic_store(&settings.epoch, epoch + 1 + (epoch & 1));
	mem_look();
}

void mem_sample_off(void)
{
	uint32_t epoch = atomic_load(&settings.epoch);

	atomic_store(&settings.epoch, epoch + (epoch & 1));
}

void mem_sample_cap(uint64_t bytes)
{
	atomic_store(&settings.cap, bytes ? bytes - 1 : 0);
	mem_look();
}

static uint64_t weight_divide(uint64_t size, double probability)
{
	double weight = (double)size / probability + 0.5;

	return weight < 0x1p63 ? (uint64_t)weight : UINT64_MAX;
}

uint64_t mem_sample_weight(uint64_t size)
{
	uint64_t interval = atomic_load_explicit(&settings.interval, memory_order_relaxed);

	if (!interval || !size)
		return size;
	return weight_divide(size, one_minus_exp((double)size / (double)interval));
}

uint64_t mem_sample_reweight(uint64_t old_size, uint64_t old_weight, uint64_t growth, uint64_t size)
{
	uint64_t interval = atomic_load_explicit(&settings.interval, memory_order_relaxed);
	double taken, grown;

	if (!interval || !old_weight)
		return size;
	taken = (double)old_size / (double)old_weight;
	grown = one_minus_exp((double)growth / (double)interval);
	return weight_divide(size, taken + (1 - taken) * grown);
}
