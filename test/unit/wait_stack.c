/* engine/wait/wait_stack: the use of a futex, by names of functions. This file fakes the symbols. */
#include "engine/wait/wait_stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/wait/wait_owner.h"
#include "test/fixtures/suite.h"

/* A program counter is the index of its name. */
static const char *const names[] = {
	"?",
	"__futex_abstimed_wait_common",
	"pthread_mutex_lock",
	"__pthread_cond_wait",
	"sem_wait",
	"pthread_rwlock_rdlock",
	"__pthread_clockjoin_ex",
	"std::sys::sync::condvar::futex::Condvar::wait",
	"parking_lot::raw_mutex::RawMutex::lock_slow",
	"runtime.stopm",
	"<std::thread::thread::Thread>::park",
	"work",
};

enum { NONE, FUTEX, MUTEX, COND, SEM, RWLOCK, JOIN, CONDVAR, RAW_MUTEX, STOPM, PARK, WORK };

static struct symbols *const symbols = (struct symbols *)1;
static unsigned resolved, variables;

/* Call sites are the byte before the return address. */
static size_t index_of(uintptr_t pc)
{
	return (pc + 1) / 16;
}

int symbols_resolve(struct symbols *used, const uintptr_t *pcs, size_t count, struct symbol *out)
{
	ck_assert_ptr_eq(used, symbols);
	resolved++;
	for (size_t i = 0; i < count; i++)
		out[i].name = names[index_of(pcs[i])];
	return 0;
}

int symbols_variable(struct symbols *used, uintptr_t address, char *name, size_t size)
{
	ck_assert_ptr_eq(used, symbols);
	variables++;
	if (address != 0x1000)
		return -ENOENT;
	snprintf(name, size, "queue+0x8");
	return 0;
}

static struct wait futex(uintptr_t lock)
{
	return (struct wait){
		.state = WAIT_WAITING,
		.cause = WAIT_LOCK,
		.is_futex = true,
		.lock = lock,
		.owner = 5,
		.owner_kinds = WAIT_OWNER_ANY,
	};
}

static void set_cause(struct wait *wait, unsigned second, unsigned third)
{
	const uintptr_t pcs[] = { FUTEX * 16, second * 16, third * 16, WORK * 16 };

	wait_set_cause_by_stack(wait, symbols, pcs, 4);
}

static const struct {
	unsigned second, third;
	enum wait_cause cause;
	pid_t owner;
} rows[] = {
	{ MUTEX, WORK, WAIT_LOCK, 5 },
	{ COND, MUTEX, WAIT_CONDITION, 0 }, /* the innermost counts */
	{ FUTEX, COND, WAIT_CONDITION, 0 },
	{ SEM, WORK, WAIT_SEMAPHORE, 0 },
	{ RWLOCK, WORK, WAIT_LOCK, 5 },
	{ JOIN, WORK, WAIT_CHILD, 5 },
	{ CONDVAR, WORK, WAIT_CONDITION, 0 },
	{ RAW_MUTEX, WORK, WAIT_LOCK, 0 },
	{ STOPM, WORK, WAIT_IDLE, 0 },
	{ PARK, WORK, WAIT_CONDITION, 0 },
	{ WORK, WORK, WAIT_LOCK, 0 }, /* not known */
};

START_TEST(uses)
{
	struct wait wait = futex(0x2000);

	set_cause(&wait, rows[_i].second, rows[_i].third);
	ck_assert_str_eq(jfr_wait_causes[wait.cause], jfr_wait_causes[rows[_i].cause]);
	ck_assert_int_eq(wait.owner, rows[_i].owner);
	wait_clear(&wait);
}
END_TEST

/* Where the futex is not known, the thread is. */
START_TEST(last_use_of_a_thread)
{
	struct wait wait = futex(0);

	wait.first = 4000;
	set_cause(&wait, COND, WORK);
	wait.cause = WAIT_LOCK;
	set_cause(&wait, WORK, WORK);
	ck_assert_int_eq(wait.cause, WAIT_CONDITION);
	wait = futex(0);
	wait.first = 4004;
	set_cause(&wait, WORK, WORK);
	ck_assert_int_eq(wait.cause, WAIT_LOCK);
	wait_clear(&wait);
}
END_TEST

/* The owner was found in a word of another form of lock. */
START_TEST(owner_of_another_form)
{
	struct wait wait = futex(0x2000);

	wait.owner_kinds = 1u << WAIT_OWNER_RWLOCK;
	wait.is_handed_over = true;
	set_cause(&wait, MUTEX, WORK);
	ck_assert_int_eq(wait.owner, 0);
	ck_assert(!wait.is_handed_over);
	ck_assert_uint_eq(wait.owner_kinds, 1u << WAIT_OWNER_MUTEX | 1u << WAIT_OWNER_WORD);
}
END_TEST

START_TEST(the_last_use_of_the_futex)
{
	struct wait wait = futex(0x2000);

	set_cause(&wait, SEM, WORK);
	wait = futex(0x2000);
	set_cause(&wait, WORK, WORK);
	ck_assert_int_eq(wait.cause, WAIT_SEMAPHORE);
	wait = futex(0x3000);
	set_cause(&wait, WORK, WORK);
	ck_assert_int_eq(wait.cause, WAIT_LOCK);
	wait_stack_forget();
	wait = futex(0x2000);
	set_cause(&wait, WORK, WORK);
	ck_assert_int_eq(wait.cause, WAIT_LOCK);
}
END_TEST

START_TEST(locks_have_names)
{
	struct wait wait = futex(0x1000);

	for (int i = 0; i < 3; i++)
		set_cause(&wait, MUTEX, WORK);
	ck_assert_str_eq(wait.object, "lock 0x1000 queue+0x8");
	ck_assert_uint_eq(variables, 1);
	ck_assert_uint_eq(resolved, 1);
	wait_clear(&wait);
	wait = futex(0x2000); /* on the heap */
	for (int i = 0; i < 3; i++)
		set_cause(&wait, MUTEX, WORK);
	ck_assert_ptr_null(wait.object);
	ck_assert_uint_eq(variables, 2);
	wait = futex(0x1000);
	set_cause(&wait, SEM, WORK);
	ck_assert_ptr_null(wait.object);
}
END_TEST

START_TEST(namings_are_bounded)
{
	struct wait wait;

	for (uintptr_t lock = 0x10000; lock < 0x20000; lock += 0x40) {
		wait = futex(lock);
		set_cause(&wait, MUTEX, WORK);
		ck_assert_int_eq(wait.owner, 5);
	}
	ck_assert_uint_lt(resolved + variables, 150);
}
END_TEST

START_TEST(what_is_left_alone)
{
	struct wait wait = futex(0x2000);

	wait.cause = WAIT_GIL;
	set_cause(&wait, COND, WORK);
	ck_assert_int_eq(wait.cause, WAIT_GIL);
	wait = (struct wait){ .state = WAIT_WAITING, .cause = WAIT_FILE };
	set_cause(&wait, COND, WORK);
	ck_assert_int_eq(wait.cause, WAIT_FILE);
	ck_assert_uint_eq(resolved, 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, uses, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, last_use_of_a_thread);
	tcase_add_test(tests, owner_of_another_form);
	tcase_add_test(tests, the_last_use_of_the_futex);
	tcase_add_test(tests, locks_have_names);
	tcase_add_test(tests, namings_are_bounded);
	tcase_add_test(tests, what_is_left_alone);
	return suite_run(tests);
}
