/* engine/runtime/python/python_gil: the lock is recognized by its futexes, and its holder by the thread's state. */
#include "engine/runtime/python/python_gil.h"

#include <stddef.h>
#include <string.h>

#include "test/fixtures/suite.h"

/* A runtime with the lock in it, and the state of the thread that holds it. */
static struct {
	uint8_t before[64];
	uint64_t interval, last_holder;
	int32_t locked, unused;
	uint64_t switch_number;
	uint8_t condition[48], mutex[40], switch_condition[48];
	uint8_t after[64];
} runtime;

static struct {
	uint8_t before[152];
	uint64_t c_library_id, native_id;
} state;

static struct python python;

static void setup(void)
{
	python.layout = *python_layout_known(0x030b);
	python.runtime = (uintptr_t)&runtime;
	python.runtime_bytes = sizeof(runtime);
	memset(&runtime, 0xff, sizeof(runtime));
	runtime.interval = 5000;
	runtime.last_holder = (uint64_t)(uintptr_t)&state;
	runtime.locked = 1;
	state.native_id = 77;
}

static const struct {
	size_t at;
	bool is_lock;
} places[] = {
	{ offsetof(__typeof__(runtime), condition) + 32, true },
	{ offsetof(__typeof__(runtime), condition) + 44, true },
	{ offsetof(__typeof__(runtime), mutex), true },
	{ offsetof(__typeof__(runtime), switch_condition) + 40, true },
	{ offsetof(__typeof__(runtime), condition), false },
	{ offsetof(__typeof__(runtime), after) + 60, false },
	{ sizeof(runtime), false },
};

START_TEST(futexes_of_the_lock)
{
	pid_t holder = 1;

	ck_assert_int_eq(python_gil_at(&python, python.runtime + places[_i].at, &holder),
			 places[_i].is_lock);
	ck_assert_int_eq(holder, places[_i].is_lock ? 77 : 0);
}
END_TEST

START_TEST(no_holder)
{
	uintptr_t futex = (uintptr_t)runtime.condition + 40;
	pid_t holder = 1;

	runtime.locked = 0;
	ck_assert(python_gil_at(&python, futex, &holder));
	ck_assert_int_eq(holder, 0);
	runtime.locked = 1;
	runtime.last_holder = 8; /* cannot be read */
	ck_assert(python_gil_at(&python, futex, &holder));
	ck_assert_int_eq(holder, 0);
	runtime.locked = -1;
	ck_assert(!python_gil_at(&python, futex, &holder));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_loop_test(tests, futexes_of_the_lock, 0, sizeof(places) / sizeof(*places));
	tcase_add_test(tests, no_holder);
	return suite_run(tests);
}
