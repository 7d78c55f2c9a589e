/* engine/sample/ring.c: each sample is read completely and once, or is counted as lost. */
#include "engine/sample/ring.h"

#include <pthread.h>
#include <stdlib.h>

#include "test/fixtures/suite.h"

#define RING_BYTES (16u << 10)
#define PRODUCERS  4
#define EACH       200000

static struct wake collector;

struct taken {
	uint64_t count, sum;
	uint64_t last[PRODUCERS]; /* newest number of each producer */
	bool in_order, intact;
};

/* The numbers of one producer are ordered, because its hint selects one ring. */
static void take(void *context, const struct sample *s)
{
	struct taken *t = context;
	uint64_t number = s->args[0];

	t->in_order &= number > t->last[s->tid];
	t->last[s->tid] = number;
	t->count++;
	t->sum += number;
	t->intact &= s->kind == SAMPLE_CPU && s->count == number % 50 && s->weight == 1;
	for (uint32_t i = 0; i < s->count; i++)
		t->intact &= s->pcs[i] == number + i;
}

static struct taken drained(void)
{
	struct taken t = { .in_order = true, .intact = true };

	ring_drain(take, &t);
	return t;
}

static bool put(pid_t producer, uint64_t number)
{
	uintptr_t pcs[50];
	struct sample *s;

	for (size_t i = 0; i < 50; i++)
		pcs[i] = number + i;
	s = ring_reserve_stack((uint32_t)producer, SAMPLE_CPU, producer, pcs, number % 50, false);
	if (!s)
		return false;
	s->args[0] = number;
	ring_commit(s);
	return true;
}

static void open_rings(void)
{
	ck_assert_int_eq(ring_open(2, RING_BYTES, &collector), 0);
	drained();
}

START_TEST(full_ring_loses_and_counts)
{
	uint64_t lost = ring_lost(), kept = 0, refused = 0;
	struct taken t;

	for (uint64_t n = 1; n <= 1000; n++) {
		if (put(0, n))
			kept++;
		else
			refused++;
	}
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_eq(ring_lost() - lost, refused);
	t = drained();
	ck_assert_uint_eq(t.count, kept);
	ck_assert(t.intact && t.in_order);
	/* It woke the collector, and accepts samples again. */
	ck_assert(wake_wait(&collector, 0));
	ck_assert(put(0, 7));
	ck_assert_uint_eq(drained().count, 1);
}
END_TEST

START_TEST(uncommitted_record_holds_the_rest_back)
{
	struct sample *slow = ring_reserve(0, SAMPLE_CPU, 0, 0);

	ck_assert_ptr_nonnull(slow);
	slow->args[0] = 50;
	ck_assert(put(0, 100));
	ck_assert_uint_eq(drained().count, 0);
	ring_commit(slow);
	ck_assert_uint_eq(drained().count, 2);
}
END_TEST

START_TEST(wraps_many_times)
{
	for (uint64_t n = 1; n < 20000; n++) {
		struct taken t;

		ck_assert(put(1, n));
		t = drained();
		ck_assert_uint_eq(t.count, 1);
		ck_assert_uint_eq(t.sum, n);
		ck_assert(t.intact);
	}
}
END_TEST

struct producer {
	pid_t number;
	uint64_t put_sum, put_count;
};

static void *produce(void *p)
{
	struct producer *me = p;

	for (uint64_t n = 1; n <= EACH; n++) {
		if (put(me->number, n)) {
			me->put_count++;
			me->put_sum += n;
		}
	}
	return NULL;
}

START_TEST(threads_put_while_one_takes)
{
	struct producer producers[PRODUCERS] = { 0 };
	struct taken t = { .in_order = true, .intact = true };
	uint64_t lost = ring_lost(), sum = 0, count = 0;
	pthread_t threads[PRODUCERS];

	for (pid_t i = 0; i < PRODUCERS; i++) {
		producers[i].number = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (int i = 0; i < 200; i++)
		ring_drain(take, &t);
	for (size_t i = 0; i < PRODUCERS; i++) {
		pthread_join(threads[i], NULL);
		sum += producers[i].put_sum;
		count += producers[i].put_count;
	}
	ring_drain(take, &t);
	ck_assert(t.in_order && t.intact);
	ck_assert_uint_eq(t.count, count);
	ck_assert_uint_eq(t.sum, sum);
	ck_assert_uint_eq(ring_lost() - lost, (uint64_t)PRODUCERS * EACH - count);
}
END_TEST

START_TEST(scratch_buffers_run_out_and_come_back)
{
	uintptr_t *taken[64];
	uint64_t lost = ring_lost();
	size_t count = 0;

	while (count < 64 && (taken[count] = ring_scratch_acquire()))
		count++;
	ck_assert_uint_gt(count, 1);
	ck_assert_uint_lt(count, 64);
	ck_assert_uint_eq(ring_lost() - lost, 1);
	for (size_t i = 1; i < count; i++)
		ck_assert_uint_ge((size_t)labs(taken[i] - taken[i - 1]), SAMPLE_DEPTH_MAX);
	while (count)
		ring_scratch_release(taken[--count]);
	taken[0] = ring_scratch_acquire();
	ck_assert_ptr_nonnull(taken[0]);
	ring_scratch_release(taken[0]);
}
END_TEST

START_TEST(forked_child_begins_with_nothing)
{
	ck_assert(put(1, 1));
	/* Another thread of the parent had reserved a record, which is never committed. */
	ck_assert_ptr_nonnull(ring_reserve(1, SAMPLE_CPU, 1, 8));
	ck_assert_ptr_nonnull(ring_scratch_acquire());
	ring_after_fork();
	ck_assert_ptr_null(ring_reserve(1, SAMPLE_CPU, 1, 8));
	ck_assert_ptr_null(ring_scratch_acquire());
	ck_assert_int_eq(ring_open(2, RING_BYTES, &collector), 0);
	ck_assert_uint_eq(ring_lost(), 0);
	ck_assert_uint_eq(drained().count, 0);
	ck_assert(put(1, 2));
	ck_assert_uint_eq(drained().sum, 2);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("ring");

	tcase_add_checked_fixture(c, open_rings, NULL);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, full_ring_loses_and_counts);
	tcase_add_test(c, uncommitted_record_holds_the_rest_back);
	tcase_add_test(c, wraps_many_times);
	tcase_add_test(c, threads_put_while_one_takes);
	tcase_add_test(c, scratch_buffers_run_out_and_come_back);
	tcase_add_test(c, forked_child_begins_with_nothing);
	return suite_run(c);
}
