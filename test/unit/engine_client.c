/* asyncprof/engine_client: what the agent asks of async-profiler goes by a mailbox, and comes to an end whatever the
 * other side does. That side is the test's own. */
#include "asyncprof/engine_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/shared.h"
#include "test/fixtures/suite.h"

static struct mailbox mailbox;
static struct wake wake;
static struct engine engine;
static char problem[MAILBOX_PROBLEM_MAX];

/* What the other side does with a question; false: it answers no more. */
static bool (*does)(void);
static pthread_t other;

static void *answer(void *unused)
{
	uint32_t rung, state;

	for (;;) {
		rung = atomic_load(&mailbox.rung);
		state = atomic_load(&mailbox.state);
		if (state == MAILBOX_ENDING || (state == MAILBOX_REQUESTED && !does()))
			return unused;
		if (state == MAILBOX_REQUESTED) {
			struct wake *asker = mailbox.asker;

			atomic_store(&mailbox.state, MAILBOX_IDLE);
			wake_up(asker);
		} else {
			futex_wait(&mailbox.rung, rung, NULL);
		}
	}
}

static void set_up(void)
{
	atomic_store(&mailbox.state, MAILBOX_IDLE);
	ck_assert_int_eq(pthread_create(&other, NULL, answer, NULL), 0);
}

static void tear_down(void)
{
	engine_client_close(&mailbox);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
}

static asprof_jfr_event_key register_event(const char *name)
{
	return (int)strlen(name);
}

static char executed[MAILBOX_TEXT_MAX];

static bool repeats(void)
{
	mailbox.err = 0;
	*mailbox.problem = '\0';
	mailbox.answer_length = 0;
	mailbox.register_jfr_event = register_event;
	if (mailbox.question == MAILBOX_LOAD)
		return true;
	strcpy(executed, mailbox.text);
	mailbox.took_ns = strlen(mailbox.text);
	mailbox.answer_length = (uint32_t)strlen(mailbox.text);
	memcpy(mailbox.answer, mailbox.text, mailbox.answer_length);
	if (!strncmp(mailbox.text, "fail", 4)) {
		mailbox.err = -EIO;
		strcpy(mailbox.problem, "it was told to");
	}
	return true;
}

static char said[2 * MAILBOX_ANSWER_MAX];

static void take(const char *text, size_t length)
{
	strncat(said, text, length);
}

static void open_engine(bool (*what)(void))
{
	does = repeats;
	ck_assert_int_eq(engine_client_open(&engine, &mailbox, &wake, true, problem), 0);
	ck_assert(mailbox.perf_allowed);
	does = what;
}

START_TEST(commands_are_answered)
{
	open_engine(repeats);
	ck_assert_str_eq(engine.name, "async-profiler");
	ck_assert_int_eq(engine.register_jfr_event("four"), 4);
	ck_assert_ptr_null(engine.get_thread_local_data);
	ck_assert_ptr_null(engine.service);
	for (int i = 0; i < 1000; i++) {
		*said = '\0';
		ck_assert_ptr_null(engine.execute("metrics", take));
		ck_assert_str_eq(said, "metrics");
		ck_assert_uint_eq(engine.took_ns(), strlen("metrics"));
	}
}
END_TEST

START_TEST(a_command_fails)
{
	asprof_error_t err;

	open_engine(repeats);
	err = engine.execute("fail,please", take);
	ck_assert_str_eq(engine.error_str(err), "it was told to");
	ck_assert_str_eq(said, "fail,please");
	ck_assert_ptr_null(engine.execute("stop", take));
}
END_TEST

START_TEST(the_longest_command_passes)
{
	static char command[MAILBOX_TEXT_MAX + 1];

	open_engine(repeats);
	memset(command, 'c', MAILBOX_TEXT_MAX);
	ck_assert_ptr_nonnull(engine.execute(command, take));
	ck_assert_str_eq(executed, "");
	ck_assert_str_eq(said, "");
	command[MAILBOX_TEXT_MAX - 1] = '\0';
	ck_assert_ptr_null(engine.execute(command, take));
	ck_assert_str_eq(executed, command);
}
END_TEST

static bool cannot_load(void)
{
	mailbox.err = -ELIBBAD;
	strcpy(mailbox.problem, "it is a text");
	return true;
}

START_TEST(a_library_cannot_be_loaded)
{
	does = cannot_load;
	ck_assert_int_eq(engine_client_open(&engine, &mailbox, &wake, false, problem), -ELIBBAD);
	ck_assert(!mailbox.perf_allowed);
	ck_assert_str_eq(problem, "it is a text");
	ck_assert_int_eq(engine_client_open(&engine, NULL, &wake, false, problem), -ENOENT);
}
END_TEST

/* A wake that came meanwhile is the agent's still. */
static bool wakes_the_agent(void)
{
	wake_up(&wake);
	return repeats();
}

START_TEST(no_other_wake_is_lost)
{
	open_engine(wakes_the_agent);
	wake_wait(&wake, 0);
	ck_assert_ptr_null(engine.execute("stop", take));
	ck_assert(wake_is_pending(&wake));
}
END_TEST

static bool hangs(void)
{
	return false;
}

/* The agent is to end, and was given no time for it: the least that there is goes by. */
START_TEST(who_does_not_answer_is_left)
{
	uint64_t began = clock_monotonic_ns();

	open_engine(hangs);
	atomic_store(&shared->agent.stop_by_ns, began);
	atomic_store(&shared->agent.state, AGENT_RUNNING | AGENT_STOP);
	ck_assert_ptr_nonnull(engine.execute("dump", take));
	ck_assert_uint_ge(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_MIN_NS);
	ck_assert_uint_lt(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_NS / 2);
	ck_assert_uint_eq(atomic_load(&mailbox.state), MAILBOX_ABANDONED);

	/* Its memory may be written still, and nothing more is asked. */
	began = clock_monotonic_ns();
	ck_assert_ptr_nonnull(engine.execute("stop", take));
	ck_assert_int_ne(engine_client_open(&engine, &mailbox, &wake, false, problem), 0);
	ck_assert_uint_lt(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_MIN_NS);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(no_thread_could_be_started)
{
	engine_client_close(&mailbox);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	mailbox.err = -EAGAIN;
	ck_assert_int_eq(engine_client_open(&engine, &mailbox, &wake, false, problem), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(problem, strerror(EAGAIN)));
	set_up();
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("engine_client");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_add_test(c, commands_are_answered);
	tcase_add_test(c, a_command_fails);
	tcase_add_test(c, the_longest_command_passes);
	tcase_add_test(c, a_library_cannot_be_loaded);
	tcase_add_test(c, no_other_wake_is_lost);
	tcase_add_test(c, who_does_not_answer_is_left);
	tcase_add_test(c, no_thread_could_be_started);
	return suite_run(c);
}
