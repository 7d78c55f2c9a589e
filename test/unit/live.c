/* core/agent/live.c and core/agent/session_live.c: only the agent's thread answers the live
 * endpoint's requests to a session. Options are all set or none. A pause stops the engine, and its
 * end starts it. A recording has the reported samples of its time, and the others. The engine is
 * the test's own. */
#include "core/agent/live.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent/failure.h"
#include "core/agent/intervals.h"
#include "core/agent/session.h"
#include "core/clock.h"
#include "core/cost.h"
#include "core/fd.h"
#include "core/units.h"
#include "test/fixtures/jfr_chunk.h"
#include "test/fixtures/suite.h"

#define CHUNK 100

static struct {
	int fd;
	unsigned starts, stops, dumps;
	uint64_t chunk_size;  /* that it writes */
	uint64_t refuses_ns;  /* an interval that it rejects */
	uint64_t interval_ns; /* that it was started with */
} engine = { .fd = -1, .chunk_size = CHUNK };

static _Atomic bool full;

static off_t size_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_size;
}

/* Write BYTES that are no chunk yet. */
static void extend(uint64_t bytes)
{
	ck_assert_int_eq(ftruncate(engine.fd, size_of(engine.fd) + (off_t)bytes), 0);
}

static void write_chunk(void)
{
	uint8_t chunk[CHUNK] = { 0 };

	jfr_chunk_fill(chunk, engine.chunk_size);
	ck_assert_int_eq(fd_write(engine.fd, chunk, sizeof(chunk), -1), 0);
	if (engine.chunk_size > CHUNK)
		extend(engine.chunk_size - CHUNK);
}

static int start(const struct engine_start *wanted)
{
	if (engine.refuses_ns == wanted->interval_ns)
		return failed(-EIO, "it will not");
	engine.interval_ns = wanted->interval_ns;
	engine.fd = open(wanted->file, O_RDWR | O_APPEND | O_CLOEXEC);
	engine.starts++;
	return 0;
}

static int rotate(void)
{
	write_chunk();
	engine.dumps++;
	return 0;
}

static int stop(void)
{
	write_chunk();
	engine.stops++;
	close(engine.fd);
	engine.fd = -1;
	return 0;
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
				    .start = start,
				    .rotate = rotate,
				    .stop = stop,
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
				  .spool_max_bytes = MIB(256),
				  .reporting_interval_ns = SECONDS(30),
				  .cstack = "dwarf",
				  .profiling_group = "group",
				  .log = LOG_ERROR };
	session = (struct session){ .config = &config, .settings = &config, .with.engine = &fake };
	memset(&engine, 0, sizeof(engine));
	engine.fd = -1;
	engine.chunk_size = CHUNK;
	call.full = &full;
	ck_assert_int_eq(session_start(&session), 0);
}

static void teardown(void)
{
	if (engine.fd >= 0)
		session_end(&session, 0);
	session_close(&session);
}

static int ask(enum live_request request)
{
	call.request = request;
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
	ck_assert_uint_eq(engine.interval_ns, MS(5));
	ck_assert_uint_eq(engine.starts, 2);
	ck_assert_str_eq(session.config->tags, "a=b");
	ck_assert_str_eq(session.config->profiling_group, "group");
	ck_assert_uint_eq(config.cpu_interval_ns, MS(10)); /* the program's own */
	/* A change that does not concern the engine does not disturb it. */
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
	{ "PROFILING_GROUP", "a/../b", "ASPROF_AGENT_PROFILING_GROUP=a/../b is not accepted" },
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
	engine.refuses_ns = MS(5);
	call.option_count = 0;
	set("CPU_INTERVAL", "5ms");
	ck_assert_int_eq(ask(LIVE_OPTIONS), -EIO);
	ck_assert_ptr_nonnull(strstr(call.problem, "it will not"));
	ck_assert_uint_eq(session.config->cpu_interval_ns, MS(10));
	ck_assert_int_ne(session.state, SESSION_PAUSED);
	ck_assert_uint_eq(engine.starts, 2);
}
END_TEST

START_TEST(a_recording_has_what_was_reported_and_what_was_not)
{
	call.fd = memfd_create("taken", MFD_CLOEXEC);
	call.finishes_chunks = false;
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

static struct sampling told; /* of the last copy */

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

/* Each part of a recording has its own settings, also if it is not reported yet, or if they were
 * changed meanwhile. */
START_TEST(a_recording_tells_how_it_was_made)
{
	session.with.write_labels = write_labels;
	call.fd = memfd_create("taken", MFD_CLOEXEC);
	call.finishes_chunks = false;
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

static int begin(void)
{
	call.fd = memfd_create("taken", MFD_CLOEXEC);
	call.full = &full;
	atomic_store(&full, false);
	ck_assert_int_eq(ask(LIVE_BEGIN), 0);
	return call.fd;
}

START_TEST(a_recording_that_is_full_ends_with_what_it_has)
{
	call.finishes_chunks = false;
	begin();
	engine.chunk_size = MIB(10);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert(!atomic_load(&full));
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert(atomic_load(&full));
	engine.chunk_size = CHUNK; /* which would fit again */
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(ask(LIVE_END), 0);
	ck_assert_int_eq(size_of(call.fd), MIB(10));
	ck_assert_uint_eq(session.reports, 3);
	close(call.fd);
}
END_TEST

START_TEST(recordings_have_a_bound_in_common)
{
	_Atomic bool each_full[3] = { false, false, false };
	int fds[3];

	call.finishes_chunks = false;
	for (int i = 0; i < 3; i++) {
		fds[i] = call.fd = memfd_create("taken", MFD_CLOEXEC);
		call.full = &each_full[i];
		ck_assert_int_eq(ask(LIVE_BEGIN), 0);
	}
	engine.chunk_size = MIB(14);
	ck_assert_int_eq(session_report(&session), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(size_of(fds[i]), i < 2 ? MIB(14) : 0);
		ck_assert_int_eq(atomic_load(&each_full[i]), i == 2);
		call.fd = fds[i];
		ck_assert_int_eq(ask(LIVE_END), 0);
		close(fds[i]);
	}
}
END_TEST

/* A client that requested an hour gets the response as soon as the recording is full. */
START_TEST(a_recording_is_full_before_a_report)
{
	call.finishes_chunks = false;
	begin();
	extend(MIB(2));
	ck_assert(!session_check_size(&session, SECONDS(1)));
	ck_assert(!atomic_load(&full));
	ck_assert_uint_eq(engine.dumps, 0);
	/* The current data becomes chunks that fit into a recording. */
	ck_assert_int_eq(ftruncate(engine.fd, size_of(engine.fd) - (off_t)MIB(2)), 0);
	for (unsigned i = 0; i < 6; i++) {
		engine.chunk_size = MIB(3);
		write_chunk();
		ck_assert(!session_check_size(&session, SECONDS(2u + i)) || i == 5);
		ck_assert_int_eq(atomic_load(&full), i == 5);
	}
	ck_assert_int_eq(ask(LIVE_END), 0);
	ck_assert_int_eq(size_of(call.fd), 5 * MIB(3));
	ck_assert_uint_eq(session.reports, 0);
	close(call.fd);
}
END_TEST

START_TEST(a_large_chunk_ends_for_a_recording)
{
	call.finishes_chunks = false;
	extend(MIB(5));
	ck_assert(!session_check_size(&session, SECONDS(1)));
	ck_assert_uint_eq(engine.dumps, 0);
	begin();
	ck_assert_uint_eq(engine.dumps, 1);
	close(call.fd);
	session.capture_count = 0;
	ck_assert_int_eq(ftruncate(engine.fd, 0), 0);
}
END_TEST

START_TEST(a_recording_leaves_out_what_was_before)
{
	write_chunk();
	call.finishes_chunks = true;
	begin();
	ck_assert_uint_eq(engine.dumps, 1);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(size_of(call.fd), CHUNK);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(ask(LIVE_END), 0);
	ck_assert_int_eq(size_of(call.fd), 3 * CHUNK);
	close(call.fd);
}
END_TEST

/* It is the program's memory, and more could not wait for its delivery. */
START_TEST(so_much_is_reported_before_the_interval_is_over)
{
	extend(MIB(15));
	ck_assert(!session_check_size(&session, SECONDS(1)));
	extend(MIB(2));
	ck_assert(!session_check_size(&session, SECONDS(1))); /* not so often */
	ck_assert(session_check_size(&session, SECONDS(2)));
	config.spool_max_bytes_set = true;
	ck_assert(!session_check_size(&session, SECONDS(3)));
	config.spool_max_bytes_set = false;
	config.reporting_interval_ns = HOURS(25); /* off */
	ck_assert(!session_check_size(&session, SECONDS(4)));
	ck_assert_int_eq(ftruncate(engine.fd, 0), 0);
}
END_TEST

START_TEST(nothing_is_written_to_recordings_after_the_endpoint)
{
	call.finishes_chunks = false;
	begin();
	session_forget_captures(&session);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(size_of(call.fd), 0);
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

/* ---- Temporary intervals ---- */

/* Begin a recording FD with one temporary interval. */
static int begin_at(int fd, const char *name, const char *value)
{
	call.fd = fd;
	call.finishes_chunks = true;
	call.until_ns = 1000;
	call.option_count = 0;
	set(name, value);
	return ask(LIVE_BEGIN);
}

static void end_recording(int fd)
{
	call.fd = fd;
	ask(LIVE_CANCEL);
}

static uint64_t interval_of_status(void)
{
	ck_assert_int_eq(ask(LIVE_STATUS), 0);
	return call.status.cpu_interval_ns;
}

START_TEST(intervals_of_a_recording_end_with_it)
{
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "2ms"), 0);
	ck_assert_uint_eq(engine.interval_ns, MS(2));
	ck_assert_uint_eq(interval_of_status(), MS(2));
	end_recording(1000);
	ck_assert_uint_eq(engine.interval_ns, MS(10));
	ck_assert_uint_eq(interval_of_status(), MS(10));
	ck_assert_uint_eq(engine.starts, 3);
	/* Longer intervals than those of the settings have no effect. */
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "20ms"), 0);
	end_recording(1000);
	ck_assert_uint_eq(engine.starts, 3);
}
END_TEST

START_TEST(recordings_do_not_undo_the_intervals_of_others)
{
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "5ms"), 0);
	ck_assert_int_eq(begin_at(1001, "CPU_INTERVAL", "2ms"), 0);
	ck_assert_uint_eq(engine.interval_ns, MS(2));
	ck_assert_int_eq(begin_at(1002, "NATIVE_MEM", "64k"), 0);
	end_recording(1001);
	ck_assert_uint_eq(engine.interval_ns, MS(5));
	call.option_count = 0;
	set("CPU_INTERVAL", "7ms");
	ck_assert_int_eq(ask(LIVE_OPTIONS), 0);
	ck_assert_uint_eq(engine.interval_ns, MS(5));
	ck_assert_uint_eq(interval_of_status(), MS(5));
	ck_assert_uint_eq(call.status.native_mem_bytes, KIB(64));
	end_recording(1000);
	ck_assert_uint_eq(engine.interval_ns, MS(7));
	end_recording(1002);
	ck_assert_uint_eq(interval_of_status(), MS(7));
	ck_assert_uint_eq(call.status.native_mem_bytes, OPTION_OFF);
}
END_TEST

START_TEST(intervals_end_with_their_lease)
{
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "2ms"), 0);
	ck_assert_uint_eq(intervals_expire(&session, 999), 1000);
	ck_assert_uint_eq(engine.interval_ns, MS(2));
	ck_assert_uint_eq(intervals_expire(&session, 1000), UINT64_MAX);
	ck_assert_uint_eq(engine.interval_ns, MS(10));
	ck_assert_uint_eq(session.capture_count, 1);
	end_recording(1000);
	ck_assert_uint_eq(engine.starts, 3);
}
END_TEST

START_TEST(intervals_that_the_engine_refuses_leave_the_others)
{
	engine.refuses_ns = MS(2);
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "2ms"), -EIO);
	ck_assert_str_eq(call.problem, "it will not");
	ck_assert_uint_eq(engine.interval_ns, MS(10));
	ck_assert_uint_eq(session.capture_count, 0);
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "2 parsecs"), -EINVAL);
	ck_assert_int_eq(begin_at(1000, "TAGS", "a=b"), -EINVAL);
	ck_assert_uint_eq(session.capture_count, 0);
	ck_assert_uint_eq(interval_of_status(), MS(10));
}
END_TEST

static unsigned changes;

static int change_intervals(const struct engine_start *wanted)
{
	engine.interval_ns = wanted->interval_ns;
	changes++;
	return 0;
}

static bool never(void)
{
	return false;
}

START_TEST(an_engine_changes_intervals_without_a_restart)
{
	struct engine changing = fake;

	changing.change_intervals = change_intervals;
	session.all.engine = session.with.engine = &changing;
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "2ms"), 0);
	ck_assert_uint_eq(engine.interval_ns, MS(2));
	end_recording(1000);
	ck_assert_uint_eq(engine.interval_ns, MS(10));
	ck_assert_uint_eq(engine.starts, 1);
	ck_assert_uint_eq(changes, 2);
	/* The data before, and the data of the recording. */
	ck_assert_uint_eq(session.reports, 2);
	session.all.engine = session.with.engine = &fake;
}
END_TEST

/* Half a second after the last call, in which samples have cost NS. The process's CPU time is the test's own, so it is
 * little: the budget is 0.1% of a processor. */
static void cost_half_a_second(uint64_t ns)
{
	static uint64_t now_ns;

	if (now_ns < session.overhead.measured_ns)
		now_ns = session.overhead.measured_ns;
	now_ns += MS(500);
	cost_add(COST_WALL, ns, 100);
	intervals_keep_budget(&session, now_ns);
}

static void sample_wall(void)
{
	config.wall_interval_ns = MS(20);
	config.budget_permil = 10;
	overhead_start(&session.overhead, &config, clock_monotonic_ns());
}

static uint64_t wall_ns;

static int change_wall(const struct engine_start *wanted)
{
	wall_ns = wanted->wall_ns;
	changes++;
	return 0;
}

START_TEST(the_budget_changes_intervals_within_a_report)
{
	struct engine changing = fake;

	changing.change_intervals = change_wall;
	session.all.engine = session.with.engine = &changing;
	sample_wall();
	cost_half_a_second(MS(100));
	ck_assert_uint_gt(wall_ns, MS(200));
	ck_assert_uint_eq(changes, 1);
	ck_assert_uint_eq(interval_of_status(), MS(10));
	ck_assert_uint_eq(call.status.wall_interval_ns, wall_ns);
	ck_assert_uint_eq(session.reports, 0);
	ck_assert_uint_eq(engine.starts, 1);
	/* A capture with another interval is limited too, and what it asks for is forgotten with it. */
	ck_assert_int_eq(begin_at(1000, "WALL_INTERVAL", "1ms"), 0);
	ck_assert_uint_gt(wall_ns, MS(200));
	end_recording(1000);
	config.budget_permil = OPTION_OFF;
	cost_half_a_second(0);
	ck_assert_uint_eq(wall_ns, MS(20));
	session.all.engine = session.with.engine = &fake;
}
END_TEST

START_TEST(the_budget_restarts_an_engine_once_a_minute)
{
	sample_wall();
	cost_half_a_second(MS(100));
	ck_assert_uint_eq(engine.starts, 2);
	ck_assert_uint_eq(session.reports, 1);
	for (int i = 0; i < 100; i++)
		cost_half_a_second(MS(300));
	ck_assert_uint_eq(engine.starts, 2);
	for (int i = 0; i < 40; i++)
		cost_half_a_second(MS(300));
	ck_assert_uint_eq(engine.starts, 3);
}
END_TEST

START_TEST(the_budget_leaves_an_engine_that_cannot_change)
{
	struct engine running = fake;

	running.can_restart = never;
	session.all.engine = session.with.engine = &running;
	sample_wall();
	cost_half_a_second(MS(100));
	interval_of_status();
	ck_assert_uint_eq(call.status.wall_interval_ns, MS(20));
	ck_assert_uint_eq(engine.starts, 1);
	session.all.engine = session.with.engine = &fake;
}
END_TEST

START_TEST(options_of_the_engine_go_before_the_budget)
{
	sample_wall();
	config.engine_options = "wall=20ms";
	cost_half_a_second(MS(100));
	ck_assert_uint_eq(engine.starts, 1);
}
END_TEST

START_TEST(an_engine_that_cannot_restart_keeps_its_intervals)
{
	struct engine running = fake;

	running.can_restart = never;
	session.all.engine = session.with.engine = &running;
	ck_assert_int_eq(begin_at(1000, "CPU_INTERVAL", "2ms"), 0);
	ck_assert_ptr_nonnull(strstr(call.problem, "cannot restart"));
	ck_assert_uint_eq(interval_of_status(), MS(10));
	end_recording(1000);
	ck_assert_uint_eq(engine.starts, 1);
	session.all.engine = session.with.engine = &fake;
}
END_TEST

/* ---- The mailbox ---- */

static struct live live;
static struct wake wake;

static void *ask_from_a_thread(void *result)
{
	static struct live_call one;

	one.request = LIVE_FLUSH;
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
		ck_assert_int_eq(live_get_pending(&live)->request, LIVE_FLUSH);
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
	tcase_add_test(tcase, a_recording_that_is_full_ends_with_what_it_has);
	tcase_add_test(tcase, recordings_have_a_bound_in_common);
	tcase_add_test(tcase, a_recording_is_full_before_a_report);
	tcase_add_test(tcase, a_large_chunk_ends_for_a_recording);
	tcase_add_test(tcase, a_recording_leaves_out_what_was_before);
	tcase_add_test(tcase, so_much_is_reported_before_the_interval_is_over);
	tcase_add_test(tcase, nothing_is_written_to_recordings_after_the_endpoint);
	tcase_add_test(tcase, recordings_are_bounded);
	tcase_add_test(tcase, intervals_of_a_recording_end_with_it);
	tcase_add_test(tcase, recordings_do_not_undo_the_intervals_of_others);
	tcase_add_test(tcase, intervals_end_with_their_lease);
	tcase_add_test(tcase, intervals_that_the_engine_refuses_leave_the_others);
	tcase_add_test(tcase, an_engine_changes_intervals_without_a_restart);
	tcase_add_test(tcase, an_engine_that_cannot_restart_keeps_its_intervals);
	tcase_add_test(tcase, the_budget_changes_intervals_within_a_report);
	tcase_add_test(tcase, the_budget_restarts_an_engine_once_a_minute);
	tcase_add_test(tcase, the_budget_leaves_an_engine_that_cannot_change);
	tcase_add_test(tcase, options_of_the_engine_go_before_the_budget);
	tcase_add_test(tcase, who_asks_waits_for_the_answer);
	tcase_add_test(tcase, who_asks_at_the_end_is_let_go);
	tcase_set_timeout(tcase, 60);
	return suite_run(tcase);
}
