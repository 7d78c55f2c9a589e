/* Selects the sampled allocations: slow path of the countdown, and the arithmetic. */
#include "engine/memory/mem_sample.h"

#include <stdatomic.h>

#include "core/clock.h"
#include "core/own_thread.h"
#include "engine/sample/poisson.h"

/* While sampling is off, a thread checks the settings after so many bytes. */
#define POLL_BYTES 65536

_Atomic bool mem_looking;
__thread struct mem_thread mem_thread;

static struct {
	_Atomic uint32_t epoch; /* odd while sampling is on */
	_Atomic uint64_t interval;
	_Atomic uint64_t wanted; /* by the user; INTERVAL may be longer */
	_Atomic uint64_t cap;    /* maximum of a countdown */
} settings = { .cap = UINT64_MAX - 1 };

/* A thread's CPU time pays for this part of it in samples. While its debt is higher than CREDIT_NS, its interval becomes
 * longer. In 100 ms of CPU time that is (3 + 0.4 + 1 + 100 / 20) ms, with the longest walk: less than a tenth. */
#define CPU_SHARE 20
#define CREDIT_NS 3000000u

/* A check follows after so much time for samples, or in the thread's life. */
#define CHECK_NS     400000u
#define CHECK_AGE_NS 100000000u

#define INTERVAL_MAX 0x1p40

/* A longer interval than both the wanted one and this one is kept as a share of the samples of the latter. */
#define COUNTED_MAX 524288u

/* That share is at least one of so many. A sample that is not kept takes time too, and some threads allocate 90,000 times
 * COUNTED_MAX bytes in a second. */
#define KEPT_ONE_OF 8

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

static uint64_t countdown_draw(struct mem_thread *t, uint64_t interval)
{
	return poisson_distance(random_next(t), interval);
}

/* The interval of T; 0: every allocation. */
static uint64_t interval_of(const struct mem_thread *t)
{
	uint64_t interval = atomic_load_explicit(&settings.interval, memory_order_relaxed);

	return !interval || interval > t->interval ? interval : t->interval;
}

/* The part of INTERVAL that is counted down. Its ratio to INTERVAL is the share of the samples that are kept.
 *
 * If the interval alone became longer, allocations larger than it would still all be sampled. To reduce these, it would
 * have to become so long that samples of other allocations are rare. */
static uint64_t counted_part(uint64_t interval)
{
	uint64_t wanted = atomic_load_explicit(&settings.wanted, memory_order_relaxed);
	uint64_t most = wanted > COUNTED_MAX ? wanted : COUNTED_MAX;

	if (most < interval / KEPT_ONE_OF)
		most = interval / KEPT_ONE_OF;
	return interval < most ? interval : most;
}

static double kept_share(uint64_t interval)
{
	return (double)counted_part(interval) / (double)interval;
}

static bool is_kept(struct mem_thread *t, uint64_t interval)
{
	return counted_part(interval) == interval ||
	       (double)(random_next(t) >> 11) * 0x1p-53 < kept_share(interval);
}

/* The probability that of SIZE bytes one is sampled. */
static double probability_of(uint64_t size, uint64_t interval)
{
	return poisson_probability((double)size / (double)counted_part(interval)) *
	       kept_share(interval);
}

bool mem_sample_spend(uint64_t ns, uint64_t now_ns)
{
	struct mem_thread *t = &mem_thread;

	t->spent_ns += ns;
	if (t->spent_ns < CHECK_NS && now_ns - t->checked_ns < CHECK_AGE_NS)
		return false;
	t->checked_ns = now_ns;
	return true;
}

/* The interval of T at which the samples since the last check, in USED_NS, had taken its share. */
static double interval_fitting(const struct mem_thread *t, uint64_t used_ns)
{
	double fits =
		(double)interval_of(t) * CPU_SHARE * (double)t->spent_ns / (double)(used_ns + 1);

	return fits < INTERVAL_MAX ? fits : INTERVAL_MAX;
}

void mem_sample_check(uint64_t cpu_ns)
{
	struct mem_thread *t = &mem_thread;
	/* In a forked child, the CPU time begins at 0. */
	uint64_t used_ns = cpu_ns > t->checked_cpu_ns ? cpu_ns - t->checked_cpu_ns : 0,
		 paid_ns = used_ns / CPU_SHARE, before = interval_of(t);
	double fits = interval_fitting(t, used_ns);

	t->debt_ns += t->spent_ns;
	t->debt_ns = t->debt_ns > paid_ns ? t->debt_ns - paid_ns : 0;
	if (used_ns && (t->debt_ns > CREDIT_NS) == (fits > (double)before))
		t->interval = (uint64_t)fits;
	t->checked_cpu_ns = cpu_ns;
	t->spent_ns = 0;
	if (interval_of(t) == before)
		return;
	/* Without a memory, the distance to the next sample can be drawn again. */
	t->epoch = 0;
	t->left = 0;
}

bool mem_sample_due(size_t size)
{
	struct mem_thread *t = &mem_thread;
	uint32_t epoch = atomic_load_explicit(&settings.epoch, memory_order_acquire);
	uint64_t interval = interval_of(t);
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
	next = countdown_draw(t, counted_part(interval));
	if (t->capped) {
		sampled = next < beyond;
		next = sampled ? countdown_draw(t, counted_part(interval)) : next - beyond;
	}
	t->capped = next > cap;
	t->left = t->capped ? cap : next;
	return sampled && is_kept(t, interval);
}

void mem_look(void)
{
	atomic_store(&mem_looking, true);
}

void mem_sample_on(uint64_t interval)
{
	atomic_store(&settings.wanted, interval);
	mem_sample_change(interval);
}

/* The setting is never off in between: a thread that checked it then would not check again for
 * long. */
void mem_sample_change(uint64_t interval)
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

bool mem_sample_takes_all(void)
{
	return !atomic_load_explicit(&settings.interval, memory_order_relaxed);
}

static uint64_t weight_divide(uint64_t size, double probability)
{
	double weight = (double)size / probability + 0.5;

	return weight < 0x1p63 ? (uint64_t)weight : UINT64_MAX;
}

uint64_t mem_sample_weight(uint64_t size)
{
	uint64_t interval = interval_of(&mem_thread);

	if (!interval || !size)
		return size;
	return weight_divide(size, probability_of(size, interval));
}

uint64_t mem_sample_reweight(uint64_t old_size, uint64_t old_weight, uint64_t growth, uint64_t size)
{
	uint64_t interval = interval_of(&mem_thread);
	double taken, grown;

	if (!interval || !old_weight)
		return size;
	taken = (double)old_size / (double)old_weight;
	grown = probability_of(growth, interval);
	return weight_divide(size, taken + (1 - taken) * grown);
}
