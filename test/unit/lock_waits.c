/* engine/sample/lock_waits.c: sampled waits stand for all waits, also for shorter ones. */
#include "engine/sample/lock_waits.h"

#include <math.h>

#include "core/clock.h"
#include "core/cost.h"
#include "engine/sample/poisson.h"
#include "engine/sample/ring.h"
#include "test/fixtures/suite.h"

/* By chance once in ten million. */
#define SIGMAS 5.3

#define INTERVAL 10000000u
#define WAITS    4000

static struct {
	uint64_t count;
	double weight;
} seen;

static void count(void *context, const struct sample *s)
{
	(void)context;
	ck_assert_int_eq(s->kind, SAMPLE_LOCK);
	ck_assert_uint_eq(s->args[0], 0x1000);
	ck_assert_uint_eq(s->pcs[0], 0x2000);
	ck_assert_uint_gt(s->count, 1);
	seen.count++;
	seen.weight += (double)s->args[2];
}

static const double lengths[] = { 0.01, 0.1, 0.5, 1, 2, 5, 50 }; /* in intervals */

/* The waits are as long as if they had begun earlier. */
START_TEST(totals_are_unbiased)
{
	uint64_t length = (uint64_t)(lengths[_i] * INTERVAL);
	double chance = 1 - exp(-lengths[_i]), expected = (double)length * WAITS,
	       deviation = (double)length * sqrt(WAITS * (1 / chance - 1));
	struct lock_wait wait = { .lock = 0x1000, .function = 0x2000 };
	double most,
		real = 0; /* the waits last as long, longer where a busy machine interrupts them */

	ck_assert_int_eq(ring_open(1, 1 << 16, NULL), 0);
	lock_waits_set_interval(INTERVAL);
	for (int i = 0; i < WAITS; i++) {
		uint64_t begin_ns = clock_monotonic_ns();

		ck_assert(lock_wait_begin(&wait));
		wait.start_ns -= length;
		wait.start_ticks -= length;
		lock_wait_end(&wait);
		real += (double)(clock_monotonic_ns() - begin_ns);
		ck_assert(ring_drain(count, NULL));
	}
	most = expected * 1.02 + real + SIGMAS * (deviation + sqrt(real * INTERVAL));
	ck_assert_msg(seen.weight > expected - SIGMAS * deviation && seen.weight < most,
		      "%g instead of %g +- %g, and at most %g", seen.weight, expected, deviation,
		      most);
	ck_assert_uint_le(seen.count, WAITS);
	ck_assert_uint_eq(atomic_load(&shared->costs[COST_LOCKS].samples), seen.count);
	ck_assert_int_eq(atomic_load(&shared->costs[COST_LOCKS].handlers_ns) > 0, seen.count > 0);
	if (lengths[_i] >= 50)
		ck_assert_uint_eq(seen.count, WAITS);
}
END_TEST

START_TEST(samples_nothing_if_off)
{
	struct lock_wait wait = { 0 };

	ck_assert(!lock_wait_begin(&wait));
	lock_waits_set_interval(1);
	ck_assert(lock_wait_begin(&wait));
	lock_waits_set_interval(UINT64_MAX);
	ck_assert(!lock_wait_begin(&wait));
}
END_TEST

START_TEST(knows_probabilities)
{
	for (double x = 0; x < 50; x += 0.001)
		ck_assert_double_eq_tol(poisson_probability(x), -expm1(-x), 1e-12);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, totals_are_unbiased, 0, sizeof(lengths) / sizeof(*lengths));
	tcase_add_test(tcase, samples_nothing_if_off);
	tcase_add_test(tcase, knows_probabilities);
	return suite_run(tcase);
}
