/* engine/sample/user_events.c: a name has one key in all threads, and an event is written
 * completely. */
#include "engine/sample/user_events.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/sample/ring.h"
#include "test/fixtures/suite.h"

#define THREADS 4
#define NAMES   200

static struct wake collector;

static void *register_all(void *out)
{
	asprof_jfr_event_key *keys = out;
	char name[24];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "event-%d", i);
		keys[i] = user_event_register(name);
	}
	return NULL;
}

START_TEST(a_name_has_one_key)
{
	static asprof_jfr_event_key keys[THREADS][NAMES];
	pthread_t threads[THREADS];
	char name[24];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, register_all, keys[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "event-%d", i);
		ck_assert_int_ge(keys[0][i], 0);
		ck_assert_str_eq(user_event_name(keys[0][i]), name);
		for (int t = 1; t < THREADS; t++)
			ck_assert_int_eq(keys[t][i], keys[0][i]);
	}
}
END_TEST

START_TEST(names_are_bounded)
{
	asprof_jfr_event_key key = 0;
	char name[24];
	int count;

	for (count = 0; key >= 0 && count < 100000; count++) {
		snprintf(name, sizeof(name), "%d", count);
		key = user_event_register(name);
	}
	ck_assert_int_eq(key, -1);
	ck_assert_int_ge(user_event_register("0"), 0);
}
END_TEST

static void expect(void *context, const struct sample *sample)
{
	ck_assert_uint_eq(sample->kind, SAMPLE_USER_EVENT);
	ck_assert_uint_eq(sample->count, 5);
	ck_assert_mem_eq(sample->payload, "hello", 5);
	ck_assert_str_eq(user_event_name((int)sample->args[0]), "mine");
	++*(int *)context;
}

START_TEST(what_is_emitted_comes_out)
{
	const uint8_t data[ASPROF_MAX_JFR_EVENT_LENGTH + 1] = "hello";
	asprof_jfr_event_key key = user_event_register("mine");
	int seen = 0;

	ck_assert_str_eq(user_event_emit(key, data, 5),
			 "profiler is not running, or its buffer is full");
	ck_assert_int_eq(ring_open(1, 65536, &collector), 0);
	ck_assert_ptr_null(user_event_emit(key, data, 5));
	ck_assert_str_eq(user_event_emit(key, data, sizeof(data)),
			 "event data longer than 2048 bytes");
	ck_assert_str_eq(user_event_emit(-1, data, 5), "unknown event key");
	ck_assert_str_eq(user_event_emit(key + 1, data, 5), "unknown event key");
	ck_assert_str_eq(user_event_emit(1 << 20, data, 5), "unknown event key");
	ring_drain(expect, &seen);
	ck_assert_int_eq(seen, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("user_events");

	tcase_add_test(tcase, a_name_has_one_key);
	tcase_add_test(tcase, names_are_bounded);
	tcase_add_test(tcase, what_is_emitted_comes_out);
	return suite_run(tcase);
}
