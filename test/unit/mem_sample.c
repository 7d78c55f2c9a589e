/* engine/memory/mem_sample.c: the countdown samples each byte with the same probability, and
 * weights add up. */
#include "engine/memory/mem_sample.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "core/own_thread.h"
#include "test/fixtures/suite.h"

/* Ten standard deviations: by chance once in 10^23. */
#define SIGMAS 10

static sem_t finished;

static const struct {
	uint64_t interval, size;
	double expected; /* by hand: size / (1 - exp(-size / interval)) */
} weights[] = {
	{ 524288, 1, 524288.5 },
	{ 524288, 16, 524296.0 },
	{ 524288, 1040, 524808.2 },
	{ 524288, 65536, 557737.5 },
	{ 65536, 65536, 103676.7 },
	{ 65536, 1048576, 1048576.1 },
	{ 65536, 1ull << 40, 1099511627776.0 },
	{ 1, 1, 1.582 },
	{ 0, 12345, 12345.0 },
};

START_TEST(weighs)
{
	double weight;

	mem_sample_on(weights[_i].interval);
	weight = (double)mem_sample_weight(weights[_i].size);
	ck_assert_msg(fabs(weight - weights[_i].expected) <= 1, "%llu of %llu: %.1f, not %.1f",
		      (unsigned long long)weights[_i].size,
		      (unsigned long long)weights[_i].interval, weight, weights[_i].expected);
	mem_sample_off();
}
END_TEST

static const struct {
	uint64_t interval, notice, size;
} patterns[] = {
	{ 65536, UINT64_MAX, 16 },   { 65536, UINT64_MAX, 1000 },    { 65536, UINT64_MAX, 65536 },
	{ 65536, UINT64_MAX, 9999 }, { 65536, UINT64_MAX, 1 << 19 }, { 65536, 4096, 16 },
	{ 65536, 4096, 1000 },       { 65536, 100, 20000 },
};

/* With and without capped countdowns. */
START_TEST(totals_are_unbiased)
{
	uint64_t size = patterns[_i].size, sum = 0, count = 0, n = 2000;
	double expected, chance, deviation;

	mem_sample_cap(patterns[_i].notice);
	mem_sample_on(patterns[_i].interval);
	chance = 1 - exp(-(double)size / (double)patterns[_i].interval);
	/* Enough for about 2,000 samples. */
	n = (uint64_t)(2000 / chance);
	for (uint64_t i = 0; i < n; i++)
		if (!mem_sample_passes(size) && mem_sample_due(size)) {
			sum += mem_sample_weight(size);
			count++;
		}
	mem_sample_off();
	mem_sample_cap(UINT64_MAX);
	expected = (double)n * (double)size;
	deviation = sqrt((1 - chance) / (chance * (double)n));
	ck_assert_msg(fabs((double)sum / expected - 1) <= SIGMAS * deviation + 1e-4,
		      "%llu samples stand for %.4f of all, deviation %.4f",
		      (unsigned long long)count, (double)sum / expected, deviation);
}
END_TEST

static const struct {
	uint64_t wanted, interval, size;
	double chance; /* by hand */
} changes[] = {
	{ 65536, 262144, 1000, 1 - 0.9961925694 }, /* up to 512 KiB the interval is longer */
	{ 524288, 4194304, 20000, (1 - 0.9625714588) / 8 },  /* beyond that it is a share */
	{ 524288, 4194304, 10000033, 1.0 / 8 },              /* of large allocations too */
	{ 524288, 67108864, 20000, (1 - 0.9976186541) / 8 }, /* not a smaller share */
	{ 1048576, 4194304, 10000033,
	  (1 - 0.00007214918) / 4 }, /* a wanted interval is not a share */
	{ 4194304, 4194304, 10000033, 1 - 0.09216326466 },
	{ 4194304, 65536, 16, 1 - 0.9997558891749 }, /* a shorter one than at the start */
};

START_TEST(a_longer_interval_reduces_all_sizes)
{
	uint64_t size = changes[_i].size, sum = 0, count = 0, n;
	double chance = changes[_i].chance, deviation, taken;

	mem_sample_on(changes[_i].wanted);
	mem_sample_change(changes[_i].interval);
	n = (uint64_t)(2000 / chance);
	for (uint64_t i = 0; i < n; i++)
		if (!mem_sample_passes(size) && mem_sample_due(size)) {
			sum += mem_sample_weight(size);
			count++;
		}
	mem_sample_off();
	deviation = sqrt((1 - chance) / (chance * (double)n));
	taken = (double)count / (chance * (double)n);
	ck_assert_msg(fabs(taken - 1) <= SIGMAS * deviation, "%.3f of the samples", taken);
	ck_assert_double_le(fabs((double)sum / ((double)n * (double)size) / taken - 1), 1e-3);
}
END_TEST

/* A thread allocates 100 bytes each 50 ns of its CPU time, in phases with pauses; a sample takes 10 us. Beyond that, samples
 * take at most a tenth of any 100 ms, and the weights are right. */
#define ALLOCATION_NS 50
#define SAMPLE_NS     10000
#define SPAN_MS       100
#define SPANS_MAX     300

static const uint64_t limited_intervals[] = { 1, 1000, 100000 };

START_TEST(a_thread_spends_little_time_for_samples)
{
	static uint64_t spent_ns[SPANS_MAX * SPAN_MS]; /* of each millisecond */
	uint64_t cpu_ns = 1000000, bytes = 0, weights_sum = 0, in_span = 0, worst_ns = 0;
	const uint64_t span_ns = SPAN_MS * (uint64_t)1000000;

	mem_sample_on(limited_intervals[_i]);
	mem_sample_check(cpu_ns);
	for (unsigned phase = 0; cpu_ns < 100 * span_ns; phase++) {
		for (unsigned i = 0; i < 1000000; i++) {
			cpu_ns += ALLOCATION_NS;
			bytes += 100;
			if (mem_sample_passes(100) || !mem_sample_due(100))
				continue;
			weights_sum += mem_sample_weight(100);
			cpu_ns += SAMPLE_NS;
			spent_ns[cpu_ns / 1000000] += SAMPLE_NS;
			if (mem_sample_spend(SAMPLE_NS, cpu_ns))
				mem_sample_check(cpu_ns);
		}
		cpu_ns += span_ns; /* without allocations */
	}
	mem_sample_off();
	for (size_t ms = 0; ms < cpu_ns / 1000000; ms++) {
		in_span += spent_ns[ms] - (ms >= SPAN_MS ? spent_ns[ms - SPAN_MS] : 0);
		worst_ns = in_span > worst_ns ? in_span : worst_ns;
	}
	ck_assert_uint_le(worst_ns, span_ns / 10);
	ck_assert_uint_ge(worst_ns, span_ns / 100);
	ck_assert_double_le(fabs((double)weights_sum / (double)bytes - 1), 0.05);
}
END_TEST

/* Every allocation was asked for. */
START_TEST(zero_is_not_limited)
{
	mem_sample_on(0);
	for (unsigned i = 0; i < 1000; i++) {
		ck_assert(!mem_sample_passes(100) && mem_sample_due(100));
		ck_assert_uint_eq(mem_sample_weight(100), 100);
		if (mem_sample_spend(SAMPLE_NS, i * SAMPLE_NS))
			mem_sample_check(i * SAMPLE_NS);
	}
	mem_sample_off();
}
END_TEST

/* An allocation that grows is as likely to be sampled as one that was large initially, and has the
 * same weight. One that shrinks keeps its probability. */
START_TEST(growing_is_unbiased)
{
	const uint64_t n = 40000, steps[] = { 1000, 4000, 16000, 64000 };
	double sum = 0, expected = (double)n * 64000;

	mem_sample_on(65536);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t size = 0, weight = 0;
		bool taken = false;

		for (size_t s = 0; s < 4; s++) {
			uint64_t growth = steps[s] - size;

			if (taken)
				weight = mem_sample_reweight(size, weight, growth, steps[s]);
			else if (!mem_sample_passes(growth) && mem_sample_due(growth)) {
				taken = true;
				weight = mem_sample_weight(steps[s]);
			}
			size = steps[s];
		}
		sum += (double)weight;
		if (taken)
			ck_assert_uint_eq(mem_sample_reweight(64000, weight, 0, 64000), weight);
	}
	mem_sample_off();
	/* The probability is 0.62. */
	ck_assert_msg(fabs(sum / expected - 1) < SIGMAS * 0.0039, "%.4f", sum / expected);
}
END_TEST

START_TEST(zero_takes_all)
{
	mem_sample_on(0);
	for (int i = 0; i < 1000; i++) {
		ck_assert(!mem_sample_passes(1));
		ck_assert(mem_sample_due(1));
		ck_assert(mem_sample_passes(0));
	}
	mem_sample_off();
}
END_TEST

/* A thread with a countdown of other settings, or without one, notices soon. */
START_TEST(on_and_off_are_noticed)
{
	unsigned taken = 0;

	for (int i = 0; i < 100000; i++)
		if (!mem_sample_passes(100))
			ck_assert(!mem_sample_due(100));
	mem_thread.left = 0;
	mem_sample_on(0);
	for (int i = 0; i < 1000; i++)
		taken += !mem_sample_passes(100) && mem_sample_due(100);
	ck_assert_uint_eq(taken, 1000);
	mem_sample_off();
	for (int i = 0; i < 1000; i++)
		ck_assert(mem_sample_passes(100) || !mem_sample_due(100));
}
END_TEST

/* A large allocation is always reported, whatever the countdown. */
START_TEST(large_ones_are_noticed)
{
	mem_sample_cap(5000);
	for (int on = 0; on < 2; on++) {
		if (on)
			mem_sample_on(1u << 30);
		for (int i = 0; i < 10000; i++) {
			if (!mem_sample_passes(50))
				mem_sample_due(50);
			ck_assert(!mem_sample_passes(5000));
			mem_sample_due(5000);
		}
	}
	mem_sample_off();
	mem_sample_cap(UINT64_MAX);
}
END_TEST

START_TEST(the_sampler_itself_is_not_sampled)
{
	mem_sample_on(0);
	mem_thread.inside = true;
	ck_assert(!mem_sample_due(100));
	mem_thread.inside = false;
	ck_assert(mem_sample_due(100));
	mem_sample_off();
}
END_TEST

static void *allocates(void *done)
{
	unsigned taken = 0;

	for (int i = 0; i < 100; i++)
		taken += !mem_sample_passes(100000) && mem_sample_due(100000);
	*(unsigned *)done = taken;
	sem_post(&finished);
	return NULL;
}

START_TEST(our_threads_are_not_sampled)
{
	pthread_t thread;
	unsigned taken = 1;

	mem_sample_on(0);
	ck_assert(!sem_init(&finished, 0, 0));
	ck_assert_int_eq(own_thread_start("test", allocates, &taken), 0);
	sem_wait(&finished);
	ck_assert_uint_eq(taken, 0);
	ck_assert(!pthread_create(&thread, NULL, allocates, &taken));
	sem_wait(&finished);
	ck_assert_uint_eq(taken, 100);
	pthread_join(thread, NULL);
	mem_sample_off();
}
END_TEST

static void *draws(void *out)
{
	mem_sample_due(1);
	*(uint64_t *)out = mem_thread.left;
	return NULL;
}

START_TEST(threads_draw_differently)
{
	uint64_t left[8];
	pthread_t thread[8];
	unsigned same = 0;

	mem_sample_on(1u << 30);
	for (int i = 0; i < 8; i++)
		ck_assert(!pthread_create(&thread[i], NULL, draws, &left[i]));
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	for (int i = 1; i < 8; i++)
		same += left[i] == left[i - 1];
	ck_assert_uint_eq(same, 0);
	mem_sample_off();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem_sample");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, weighs, 0, sizeof(weights) / sizeof(weights[0]));
	tcase_add_loop_test(tcase, totals_are_unbiased, 0, sizeof(patterns) / sizeof(patterns[0]));
	tcase_add_loop_test(tcase, a_longer_interval_reduces_all_sizes, 0,
			    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tcase, growing_is_unbiased);
	tcase_add_loop_test(tcase, a_thread_spends_little_time_for_samples, 0, 3);
	tcase_add_test(tcase, zero_is_not_limited);
	tcase_add_test(tcase, zero_takes_all);
	tcase_add_test(tcase, on_and_off_are_noticed);
	tcase_add_test(tcase, large_ones_are_noticed);
	tcase_add_test(tcase, the_sampler_itself_is_not_sampled);
	tcase_add_test(tcase, our_threads_are_not_sampled);
	tcase_add_test(tcase, threads_draw_differently);
	return suite_run(tcase);
}
