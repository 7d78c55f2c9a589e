/* core/agent/live.c and core/agent/session_live.c: what a live endpoint asks of a session is answered by the
 * agent's thread alone; options are all taken or none; a pause stops the engine, and its end starts it; a
 * recording has what was reported meanwhile and what was not yet. The engine is the test's own. */
#include "core/agent/live.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent/session.h"
#include "core/fd.h"
#include "core/units.h"
#include "test/fixtures/suite.h"

#define CHUNK 100

static struct {
	int fd;
	unsigned starts, stops, dumps;
	const char *refuses; /* a word of a start command that it does not take */
	char command[512];
} engine = { .fd = -1 };

static void write_chunk(void)
{
	uint64_t size = htobe64(CHUNK), pools = htobe64(68);
	uint8_t chunk[CHUNK] = "FLR";

	memcpy(chunk + 8, &size, 8);
	memcpy(chunk + 16, &pools, 8);
	ck_assert_int_eq(fd_write(engine.fd, chunk, sizeof(chunk), -1), 0);
}

static asprof_error_t execute(const char *command, asprof_writer_t output)
{
	const char *path = strstr(command, "file=");
	char copy[64];

	(void)output;
	if (!strncmp(command, "start", 5)) {
		if (engine.refuses && strstr(command, engine.refuses))
			return "it will not";
		snprintf(engine.command, sizeof(engine.command), "%s", command);
		snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(path + 5, ","), path + 5);
		engine.fd = open(copy, O_RDWR | O_APPEND | O_CLOEXEC);
		engine.starts++;
		return NULL;
	}
	write_chunk();
	engine.dumps += !strncmp(command, "dump", 4);
	if (!strncmp(command, "stop", 4)) {
		engine.stops++;
		close(engine.fd);
		engine.fd = -1;
	}
	return NULL;
}

static const char *error_str(asprof_error_t err)
{
	return err;
}

static bool counts(const struct engine *self, struct engine_counts *out)
{
	(void)self;
	*out = (struct engine_counts){ .taken = 5, .lost = 1 };
	return true;
}

static void version(const struct engine *self, char *text, size_t size)
{
	(void)self;
	snprintf(text, size, "1");
}

static const struct engine fake = { .name = "fake",
				    .error_str = error_str,
				    .execute = execute,
				    .counts = counts,
				    .version = version };

static struct session session;
static struct config config;
static struct live_call call;

static void setup(void)
{
	config = (struct config){ .cpu_interval_ns = MS(10),
				  .wall_interval_ns = OPTION_OFF,
				  .native_mem_bytes = OPTION_OFF,
				  .reporting_interval_ns = SECONDS(30),
				  .cstack = "dwarf",
				  .profiling_group = "group",
				  .log = LOG_ERROR };
	session = (struct session){ .config = &config, .with.engine = &fake };
	memset(&engine, 0, sizeof(engine));
	engine.fd = -1;
	ck_assert_int_eq(session_start(&session), 0);
}

static void teardown(void)
{
	if (engine.fd >= 0)
		session_end(&session, 0);
	session_close(&session);
}

static int ask(enum live_request question)
{
	call.question = question;
	ck_assert_int_eq(session_answer(&session, &call), 0);
	return call.err;
}

static int set(const char *name, const char *value)
{
	call.options[call.option_count++] = (struct live_option){ name, value };
	return 0;
}

START_TEST(a_pause_stops_the_engine_and_its_end_starts_it)
{
	ck_assert_int_eq(ask(LIVE_START), -EALREADY);
	ck_assert_int_eq(ask(LIVE_STOP), 0);
	ck_assert_uint_eq(engine.stops, 1);
	ck_assert_int_eq(ask(LIVE_STOP), -EALREADY);
	ck_assert_int_eq(ask(LIVE_FLUSH), -ESRCH);
	ck_assert_int_eq(ask(LIVE_BEGIN), -ESRCH);
	ck_assert_int_eq(ask(LIVE_STATUS), 0);
	ck_assert(!call.status.running);
	ck_assert_uint_eq(call.status.reports, 1);
	ck_assert_int_eq(session_report(&session), 0); /* a tick that comes meanwhile */
	ck_assert_uint_eq(session.reports, 1);
	ck_assert_int_eq(ask(LIVE_START), 0);
	ck_assert_uint_eq(engine.starts, 2);
	ck_assert_int_eq(ask(LIVE_STATUS), 0);
	ck_assert(call.status.running);
	ck_assert_uint_eq(call.status.samples, 5);
	ck_assert_uint_eq(call.status.lost, 1);
}
END_TEST

START_TEST(options_are_in_force_at_once)
{
	call.option_count = 0;
	set("CPU_INTERVAL", "5ms");
	set("TAGS", "a=b");
	ck_assert_int_eq(ask(LIVE_OPTIONS), 0);
	ck_assert_ptr_nonnull(strstr(engine.command, "interval=5000000,"));
	ck_assert_uint_eq(engine.starts, 2);
	ck_assert_str_eq(session.config->tags, "a=b");
	ck_assert_str_eq(session.config->profiling_group, "group");
	ck_assert_uint_eq(config.cpu_interval_ns, MS(10)); /* the program's own */
	/* What the engine has no part in does not disturb it. */
	call.option_count = 0;
	set("PROFILING_GROUP", "other");
	ck_assert_int_eq(ask(LIVE_OPTIONS), 0);
	ck_assert_uint_eq(engine.starts, 2);
	ck_assert_str_eq(session.config->tags, "a=b");
	ck_assert_str_eq(session.config->profiling_group, "other");
}
END_TEST

static const struct {
	const char *name, *value, *problem;
} wrong[] = {
	{ "CPU_INTERVAL", "10 parsecs", "ASPROF_AGENT_CPU_INTERVAL=10 parsecs is not accepted" },
	{ "CPU_INTERVAL", "", "is not accepted" },
	{ "CPU_INTERVAL", "off", "nothing to sample" },
	{ "TAGS", "a", "ASPROF_AGENT_TAGS=a is not accepted" },
	{ "LOCAL_DIR", "/tmp", "cannot be set while the program runs" },
	{ "NONE", "1", "there is no option NONE" },
};

START_TEST(of_wrong_options_none_is_taken)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		call.option_count = 0;
		set("PROFILING_GROUP", "other");
		set(wrong[i].name, wrong[i].value);
		ck_assert_int_eq(ask(LIVE_OPTIONS), -EINVAL);
		ck_assert_msg(strstr(call.problem, wrong[i].problem), "%s", call.problem);
		ck_assert_str_eq(session.config->profiling_group, "group");
		ck_assert_uint_eq(engine.starts, 1);
	}
}
END_TEST

START_TEST(what_the_engine_refuses_is_taken_back)
{
	engine.refuses = "interval=5000000";
	call.option_count = 0;
	set("CPU_INTERVAL", "5ms");
	ck_assert_int_eq(ask(LIVE_OPTIONS), -EIO);
	ck_assert_ptr_nonnull(strstr(call.problem, "it will not"));
	ck_assert_uint_eq(session.config->cpu_interval_ns, MS(10));
	ck_assert(!session.paused);
	ck_assert_uint_eq(engine.starts, 2);
}
END_TEST

static off_t size_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_size;
}

START_TEST(a_recording_has_what_was_reported_and_what_was_not)
{
	call.fd = memfd_create("taken", MFD_CLOEXEC);
	call.anew = false;
	ck_assert_int_eq(ask(LIVE_BEGIN), 0);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(size_of(call.fd), 2 * CHUNK);
	ck_assert_int_eq(ask(LIVE_END), 0);
	ck_assert_int_eq(size_of(call.fd), 3 * CHUNK);
	ck_assert_int_eq(ask(LIVE_END), -ESRCH);
	/* The chunk that was not reported is in the next report. */
	ck_assert_uint_eq(session.reports, 2);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(size_of(call.fd), 3 * CHUNK);
	close(call.fd);
}
END_TEST

static struct sampling told; /* with what was copied last */

static int write_labels(int fd, const struct report *report)
{
	int engine_fd = engine.fd;

	told = report->sampling;
	ck_assert_uint_gt(report->part_count, 0);
	engine.fd = fd;
	write_chunk();
	engine.fd = engine_fd;
	return 0;
}

/* With each part of a recording is how that was made, also where it is not reported yet, and where it was changed
 * meanwhile. */
START_TEST(a_recording_tells_how_it_was_made)
{
	session.with.write_labels = write_labels;
	call.fd = memfd_create("taken", MFD_CLOEXEC);
	call.anew = false;
	ck_assert_int_eq(ask(LIVE_BEGIN), 0);
	call.option_count = 0;
	set("CPU_INTERVAL", "5ms");
	ck_assert_int_eq(ask(LIVE_OPTIONS), 0);
	/* The restart may have sampled something, too. */
	ck_assert_int_eq(size_of(call.fd), 4 * CHUNK);
	ck_assert_uint_eq(told.interval_ns, MS(10));
	ck_assert_int_eq(ask(LIVE_END), 0);
	ck_assert_int_eq(size_of(call.fd), 6 * CHUNK);
	ck_assert_uint_eq(told.interval_ns, MS(5));
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_uint_eq(told.interval_ns, MS(5));
	close(call.fd);
}
END_TEST

START_TEST(recordings_are_bounded)
{
	for (int i = 0; i < LIVE_CAPTURES_MAX; i++) {
		call.fd = 1000 + i;
		ck_assert_int_eq(ask(LIVE_BEGIN), 0);
	}
	call.fd = 2000;
	ck_assert_int_eq(ask(LIVE_BEGIN), -EBUSY);
	call.fd = 1001;
	ck_assert_int_eq(ask(LIVE_CANCEL), 0);
	call.fd = 2000;
	ck_assert_int_eq(ask(LIVE_BEGIN), 0);
	session.capture_count = 0;
}
END_TEST

/* ---- The mailbox ---- */

static struct live live;
static struct wake wake;

static void *ask_from_a_thread(void *result)
{
	static struct live_call one;

	one.question = LIVE_FLUSH;
	*(int *)result = live_send(&live, &one);
	return NULL;
}

static void wait_for_question(void)
{
	while (!live_get_pending(&live))
		wake_wait(&wake, UINT64_MAX);
}

START_TEST(who_asks_waits_for_the_answer)
{
	pthread_t thread;
	int result = 1;

	live_open(&live, &wake);
	ck_assert_ptr_null(live_get_pending(&live));
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, ask_from_a_thread, &result);
		wait_for_question();
		ck_assert_int_eq(live_get_pending(&live)->question, LIVE_FLUSH);
		live_get_pending(&live)->err = -i;
		live_complete(&live);
		pthread_join(thread, NULL);
		ck_assert_int_eq(result, -i);
		ck_assert_ptr_null(live_get_pending(&live));
	}
}
END_TEST

START_TEST(who_asks_at_the_end_is_let_go)
{
	pthread_t thread;
	int result = 1;

	live_open(&live, &wake);
	pthread_create(&thread, NULL, ask_from_a_thread, &result);
	wait_for_question();
	live_cancel(&live);
	pthread_join(thread, NULL);
	ck_assert_int_eq(result, -ECANCELED);
	ask_from_a_thread(&result);
	ck_assert_int_eq(result, -ECANCELED);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("live");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_pause_stops_the_engine_and_its_end_starts_it);
	tcase_add_test(tcase, options_are_in_force_at_once);
	tcase_add_test(tcase, of_wrong_options_none_is_taken);
	tcase_add_test(tcase, what_the_engine_refuses_is_taken_back);
	tcase_add_test(tcase, a_recording_has_what_was_reported_and_what_was_not);
	tcase_add_test(tcase, a_recording_tells_how_it_was_made);
	tcase_add_test(tcase, recordings_are_bounded);
	tcase_add_test(tcase, who_asks_waits_for_the_answer);
	tcase_add_test(tcase, who_asks_at_the_end_is_let_go);
	tcase_set_timeout(tcase, 60);
	return suite_run(tcase);
}
