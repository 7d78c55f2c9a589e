/* asyncprof/engine_client: the agent's commands to async-profiler go through a mailbox, and end
 * whatever the other side does. That side is the test's own. */
#include "asyncprof/engine_client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asyncprof/java.h"
#include "core/agent/failure.h"
#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/shared.h"
#include "test/fixtures/suite.h"

static struct mailbox mailbox;
static struct wake wake;
static struct engine engine;
static struct engine_start start;
static char problem[MAILBOX_PROBLEM_MAX];

/* The other side's action for a command; false: it does not answer any more. */
static bool (*does)(void);
static pthread_t other;

static void *answer(void *unused)
{
	uint32_t rung, state;

	for (;;) {
		rung = atomic_load(&mailbox.changes);
		state = atomic_load(&mailbox.state);
		if (state == MAILBOX_ENDING || (state == MAILBOX_REQUESTED && !does()))
			return unused;
		if (state == MAILBOX_REQUESTED) {
			struct wake *asker = mailbox.client;

			atomic_store(&mailbox.state, MAILBOX_IDLE);
			wake_up(asker);
		} else {
			futex_wait(&mailbox.changes, rung, NULL);
		}
	}
}

static void set_up(void)
{
	start = (struct engine_start){ .cpu = true,
				       .interval_ns = 5000000,
				       .wall_ns = ENGINE_OFF,
				       .mem_bytes = ENGINE_OFF,
				       .cstack = "dwarf",
				       .file = "/r" };
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
	if (mailbox.request == MAILBOX_LOAD)
		return true;
	strcpy(executed, mailbox.text);
	mailbox.answer_length = (uint32_t)strlen(mailbox.text);
	memcpy(mailbox.answer, mailbox.text, mailbox.answer_length);
	if (strstr(mailbox.text, ",fail")) {
		mailbox.err = -EIO;
		strcpy(mailbox.problem, "it was told to");
	}
	return true;
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
		ck_assert_int_eq(engine.start(&start), 0);
		ck_assert_str_eq(executed,
				 "start,event=cpu,interval=5000000,jfr,cstack=dwarf,file=/r");
		ck_assert_int_eq(engine.rotate(), 0);
		ck_assert_str_eq(executed, "dump,jfr");
		ck_assert_int_eq(engine.stop(), 0);
		ck_assert_str_eq(executed, "stop");
	}
}
END_TEST

START_TEST(a_command_fails)
{
	open_engine(repeats);
	start.options = "fail,please";
	ck_assert_int_eq(engine.start(&start), -EIO);
	ck_assert_str_eq(failure(), "async-profiler: start failed: it was told to");
	ck_assert_int_eq(engine.stop(), 0);
}
END_TEST

START_TEST(the_longest_command_passes)
{
	static char options[MAILBOX_TEXT_MAX];
	size_t rest;

	open_engine(repeats);
	ck_assert_int_eq(engine.start(&start), 0);
	rest = MAILBOX_TEXT_MAX - strlen(executed) - 1; /* with the comma */
	memset(options, 'c', rest);
	start.options = options;
	*executed = '\0';
	ck_assert_int_ne(engine.start(&start), 0);
	ck_assert_ptr_nonnull(strstr(failure(), "ASPROF_AGENT_ENGINE_OPTIONS is too long"));
	ck_assert_str_eq(executed, "");
	options[rest - 1] = '\0';
	ck_assert_int_eq(engine.start(&start), 0);
	ck_assert_uint_eq(strlen(executed), MAILBOX_TEXT_MAX - 1);
	ck_assert_ptr_nonnull(strstr(executed, options));
}
END_TEST

static bool cannot_load(void)
{
	mailbox.err = -ELIBBAD;
	strcpy(mailbox.problem, "it is a text");
	return true;
}

/* As those before 4.0 with `metrics`. */
static bool knows_no_other(void)
{
	repeats();
	mailbox.err = -EIO;
	return true;
}

START_TEST(what_it_does_not_tell_stays)
{
	struct engine_counts counts = { .taken = 1, .lost = 2, .memory_kb = 3 };
	char text[8] = "before";

	open_engine(knows_no_other);
	ck_assert(!engine.counts(&engine, &counts));
	ck_assert_uint_eq(counts.taken, 1);
	engine.version(&engine, text, sizeof(text));
	ck_assert_str_eq(text, "before");
	does = repeats;
	ck_assert(engine.counts(&engine, &counts));
	ck_assert_uint_eq(counts.taken, 0);
	engine.version(&engine, text, sizeof(text));
	ck_assert_str_eq(text, "version");
}
END_TEST

/* Without the samples that an earlier start has lost. */
START_TEST(counts_begin_anew_with_each_start)
{
	struct engine_counts counts;

	open_engine(repeats);
	ck_assert_int_eq(engine.start(&start), 0);
	atomic_fetch_add(&mailbox.skipped, 5);
	ck_assert(engine.counts(&engine, &counts));
	ck_assert_uint_eq(counts.lost, 5);
	ck_assert_int_eq(engine.stop(), 0);
	ck_assert_int_eq(engine.start(&start), 0);
	atomic_fetch_add(&mailbox.skipped, 2);
	ck_assert(engine.counts(&engine, &counts));
	ck_assert_uint_eq(counts.lost, 2);
}
END_TEST

START_TEST(a_library_cannot_be_loaded)
{
	does = cannot_load;
	ck_assert_int_eq(engine_client_open(&engine, &mailbox, &wake, false, problem), -ELIBBAD);
	ck_assert(!mailbox.perf_allowed);
	ck_assert_str_eq(problem, "it is a text");
	ck_assert_int_eq(engine_client_open(&engine, NULL, &wake, false, problem), -ENOENT);
}
END_TEST

/* A wakeup that came meanwhile is still for the agent. */
static bool wakes_the_agent(void)
{
	wake_up(&wake);
	return repeats();
}

START_TEST(no_other_wake_is_lost)
{
	open_engine(wakes_the_agent);
	wake_wait(&wake, 0);
	ck_assert_int_eq(engine.stop(), 0);
	ck_assert(wake_is_pending(&wake));
}
END_TEST

static bool hangs(void)
{
	return false;
}

/* The agent must end, and has no time left: the minimum is used. */
START_TEST(who_does_not_answer_is_left)
{
	uint64_t began = clock_monotonic_ns();

	open_engine(hangs);
	atomic_store(&shared->agent.stop_by_ns, began);
	atomic_store(&shared->agent.state, AGENT_RUNNING | AGENT_STOP);
	ck_assert_int_eq(engine.rotate(), -EIO);
	ck_assert_uint_ge(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_MIN_NS);
	ck_assert_uint_lt(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_NS / 2);
	ck_assert_uint_eq(atomic_load(&mailbox.state), MAILBOX_ABANDONED);

	/* Its memory may still be written, and there are no more commands. */
	began = clock_monotonic_ns();
	ck_assert_int_eq(engine.stop(), -EIO);
	ck_assert_int_ne(engine_client_open(&engine, &mailbox, &wake, false, problem), 0);
	ck_assert_uint_lt(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_MIN_NS);
}
END_TEST

/* A mapped file of that name makes this a process of Java. */
static void *load_java(void)
{
	char dir[] = "/tmp/engine_client.XXXXXX", path[64];
	void *library;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/libjvm.so", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	library = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(library, MAP_FAILED);
	close(fd);
	unlink(path);
	rmdir(dir);
	return library;
}

static _Atomic uint32_t never;

static bool blocks_in_java(void)
{
	if (strncmp(mailbox.text, "start", strlen("start")))
		return repeats();
	atomic_store(&mailbox.thread, (pid_t)syscall(SYS_gettid));
	atomic_fetch_or(&shared->agent.state, AGENT_STOP);
	futex_wait(&never, 0, NULL);
	return false;
}

/* The exit of the Java VM waits for the agent, and blocks the thread that starts async-profiler: there is nothing to wait
 * for. */
START_TEST(a_start_at_the_exit_of_java_is_left)
{
	uint64_t began = clock_monotonic_ns();
	void *library;

	open_engine(blocks_in_java);
	library = load_java();
	atomic_store(&shared->agent.stop_by_ns, began + ENGINE_CLIENT_TIMEOUT_NS);
	atomic_store(&shared->agent.state, AGENT_STARTING);
	ck_assert_int_eq(engine.start(&start), -ECANCELED);
	ck_assert_uint_ge(clock_monotonic_ns() - began, JAVA_BLOCKED_NS);
	ck_assert_uint_lt(clock_monotonic_ns() - began, ENGINE_CLIENT_TIMEOUT_NS / 2);
	ck_assert_uint_eq(atomic_load(&mailbox.state), MAILBOX_ABANDONED);
	munmap(library, 4096);
	atomic_store(&never, 1);
	futex_wake(&never);
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
	tcase_add_test(c, what_it_does_not_tell_stays);
	tcase_add_test(c, counts_begin_anew_with_each_start);
	tcase_add_test(c, a_library_cannot_be_loaded);
	tcase_add_test(c, no_other_wake_is_lost);
	tcase_add_test(c, who_does_not_answer_is_left);
	tcase_add_test(c, a_start_at_the_exit_of_java_is_left);
	tcase_add_test(c, no_thread_could_be_started);
	return suite_run(c);
}
