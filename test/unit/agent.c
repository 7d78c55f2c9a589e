/* core/agent.c, core/agent/agent_thread.c and core/agent/session.c: intervals become reports,
 * whatever the engine does. The engines and the reporter are the test's own; the engines write the
 * smallest possible chunks. */
#include "core/agent/agent_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/agent/failure.h"
#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/own_thread.h"
#include "core/agent/recording.h"
#include "core/shared.h"
#include "test/fixtures/jfr_chunk.h"
#include "test/fixtures/suite.h"

#define CHUNK   100
#define SECOND  1000000000u
#define REPORTS 64

enum step { START, DUMP, STOP, STEPS };

struct fake {
	const char *fails[STEPS]; /* the result of that step; NULL: success */
	bool cannot_dump;         /* dump writes nothing */
	bool ends;                /* by itself, before the next command */
	unsigned int memory_kb;   /* that it reports */
	_Atomic int calls[STEPS];
	int fd;                    /* of the recording; -1: not open */
	struct engine_start start; /* the last; its file is closed */
	int recording;             /* its number */
	unsigned char serial;      /* of the next chunk, so that chunks can be distinguished */
};

static struct fake engine = { .fd = -1 }, mem_engine = { .fd = -1 };
static bool with_mem_engine;

static struct {
	bool wanted;
	int error;      /* in the middle of writing them */
	unsigned count; /* of reports with samples */
} labels;

static struct {
	_Atomic int count;
	unsigned char serials[REPORTS];
	uint64_t taken[REPORTS];
	bool final[REPORTS];
	int error;     /* the result of deliver */
	sem_t *slowly; /* posted at the first report, which then takes a while */
	_Atomic int drains, closes;
} got;

static struct config config;

static void write_chunk(struct fake *fake)
{
	uint8_t chunk[CHUNK] = { 0 };

	jfr_chunk_fill(chunk, CHUNK);
	chunk[CHUNK - 1] = fake->serial++;
	fd_write(fake->fd, chunk, sizeof(chunk), -1);
}

static int start(struct fake *fake, const struct engine_start *wanted)
{
	if (fake->fd >= 0)
		return failed(-EIO, "it runs already");
	fake->start = *wanted;
	fake->recording = recording_number(wanted->file);
	fake->fd = open(wanted->file, O_RDWR | O_APPEND | O_CLOEXEC);
	return fake->fd < 0 ? failed(-EIO, "cannot open the file") : 0;
}

static int stop(struct fake *fake)
{
	write_chunk(fake);
	close(fake->fd);
	fake->fd = -1;
	return 0;
}

static int rotate(struct fake *fake)
{
	if (!fake->cannot_dump)
		write_chunk(fake);
	return 0;
}

static int step_of(struct fake *fake, enum step step, const struct engine_start *wanted)
{
	fake->calls[step]++;
	if (step != START && fake->ends && fake->fd >= 0)
		stop(fake);
	if (step != START && fake->fd < 0)
		return failed(-EIO, "it does not run");
	if (fake->fails[step])
		return failed(-EIO, "%s", fake->fails[step]);
	return step == START ? start(fake, wanted) : step == STOP ? stop(fake) : rotate(fake);
}

static int start_engine(const struct engine_start *wanted)
{
	return step_of(&engine, START, wanted);
}

static int rotate_engine(void)
{
	return step_of(&engine, DUMP, NULL);
}

static int stop_engine(void)
{
	return step_of(&engine, STOP, NULL);
}

static int start_mem(const struct engine_start *wanted)
{
	return step_of(&mem_engine, START, wanted);
}

static int rotate_mem(void)
{
	return step_of(&mem_engine, DUMP, NULL);
}

static int stop_mem(void)
{
	return step_of(&mem_engine, STOP, NULL);
}

static bool counts(const struct engine *self, struct engine_counts *out)
{
	(void)self;
	*out = (struct engine_counts){ .taken = engine.serial * 10u,
				       .lost = 3,
				       .memory_kb = engine.memory_kb };
	return true;
}

static void version(const struct engine *self, char *text, size_t size)
{
	(void)self;
	snprintf(text, size, "9.9");
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	int n = got.count;

	(void)reporter;
	ck_assert_int_lt(n, REPORTS);
	ck_assert_uint_eq(report->part_count,
			  1u + with_mem_engine + (labels.wanted && !labels.error));
	for (size_t i = 0; i < report->part_count; i++)
		ck_assert_uint_eq(report->parts[i].length, CHUNK);
	ck_assert_str_eq(report->engine, "fake");
	ck_assert_str_eq(report->engine_version, "9.9");
	ck_assert_uint_ge(report->end_ms, report->start_ms);
	fd_read(report->parts[0].fd, &got.serials[n], 1, report->parts[0].offset + CHUNK - 1);
	got.taken[n] = report->samples_taken;
	got.final[n] = report->final;
	if (got.slowly && !n) {
		sem_post(got.slowly);
		nanosleep(&(struct timespec){ .tv_nsec = SECOND / 10 }, NULL);
	}
	got.count++;
	return got.error;
}

static void drain(struct reporter *reporter, uint64_t deadline_ns)
{
	(void)reporter;
	ck_assert_uint_gt(deadline_ns, clock_monotonic_ns());
	got.drains++;
}

static void close_reporter(struct reporter *reporter)
{
	(void)reporter;
	got.closes++;
}

static int write_labels(int fd, const struct report *report)
{
	struct fake file = { .fd = fd };
	char host[256];

	ck_assert_str_eq(report->tags, config.tags ? config.tags : "");
	ck_assert_int_eq(gethostname(host, sizeof(host)), 0);
	ck_assert_str_eq(report->host, host);
	ck_assert_uint_eq(report->part_count, 1u + with_mem_engine);
	labels.count++;
	write_chunk(&file);
	return labels.error;
}

static int prepare(struct agent_equipment *equipment, const struct config *c, struct wake *wake)
{
	static const struct engine fake = { .name = "fake",
					    .start = start_engine,
					    .rotate = rotate_engine,
					    .stop = stop_engine,
					    .counts = counts,
					    .version = version };
	static const struct engine fake_mem = {
		.name = "fake memory", .start = start_mem, .rotate = rotate_mem, .stop = stop_mem
	};
	static struct reporter reporter = {
		.name = "test", .deliver = deliver, .drain = drain, .close = close_reporter
	};

	(void)c;
	(void)wake;
	equipment->engine = &fake;
	equipment->mem_engine = with_mem_engine ? &fake_mem : NULL;
	equipment->write_labels = labels.wanted ? write_labels : NULL;
	equipment->reporters[0] = &reporter;
	equipment->reporter_count = 1;
	return 0;
}

static void started(void)
{
}

static uint64_t due_ns;

static void set_up(void)
{
	char problem[OPTION_PROBLEM_MAX];
	char *none[] = { NULL };

	ck_assert_int_eq(config_read(&config, none, problem), 0);
	due_ns = 0;
	config.reporting_interval_ns = SECOND / 50;
}

static void *run(void *unused)
{
	static const struct agent_parts parts = { .config = &config,
						  .prepare = prepare,
						  .started = started };

	(void)unused;
	agent_run(&parts);
	return NULL;
}

static int begin(void)
{
	return own_thread_start("asprof-agent", run, NULL);
}

static _Atomic int ends;

static void ended(void)
{
	ends++;
}

static void start_agent(void)
{
	ck_assert_int_eq(agent_start(due_ns, begin, ended), 0);
}

/* Wait, ten seconds at most, until HOLDS. */
static bool eventually(bool (*holds)(void))
{
	uint64_t until = clock_monotonic_ns() + 10ull * SECOND;
	struct timespec pause = { .tv_nsec = 1000000 };

	while (!holds()) {
		if (clock_monotonic_ns() > until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static bool five_reports(void)
{
	return got.count >= 5;
}

static bool a_final_report(void)
{
	return got.count && got.final[got.count - 1];
}

static bool no_thread(void)
{
	return !own_thread_count();
}

static bool has_ended(void)
{
	return got.closes == 1;
}

static bool runs_no_more(void)
{
	return !agent_is_running();
}

/* No chunk is missing, none came twice. */
static void check_serials(void)
{
	for (int i = 0; i < got.count; i++)
		ck_assert_int_eq(got.serials[i], i);
}

START_TEST(reports_each_interval)
{
	start_agent();
	ck_assert(eventually(five_reports));
	ck_assert(agent_is_running());
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
	ck_assert_int_eq(engine.calls[START], 1);
	ck_assert_int_eq(engine.calls[STOP], 1);
	ck_assert(got.final[got.count - 1]);
	ck_assert(!got.final[0]);
	ck_assert_uint_eq(got.taken[0], 10);
	ck_assert_uint_eq(got.taken[3], 10);
	ck_assert_int_eq(got.drains, 1);
	ck_assert_int_eq(got.closes, 1);
	ck_assert(engine.start.cpu);
	ck_assert_uint_eq(engine.start.interval_ns, SECOND / 10);
	ck_assert_uint_eq(engine.start.wall_ns, SECOND);
}
END_TEST

START_TEST(restarts_where_dump_cannot_rotate)
{
	engine.cannot_dump = true;
	start_agent();
	ck_assert(eventually(five_reports));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
	ck_assert_int_eq(engine.calls[DUMP], 1);
	ck_assert_int_eq(engine.calls[START], engine.calls[STOP]);
	ck_assert_int_eq(engine.calls[STOP], got.count);
}
END_TEST

static void check_restarts_past_the_memory_bound(void)
{
	engine.memory_kb = 1 << 20;
	start_agent();
	ck_assert(eventually(five_reports));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
	ck_assert_int_gt(engine.calls[START], 1);
}

START_TEST(restarts_past_the_memory_bound)
{
	check_restarts_past_the_memory_bound();
}
END_TEST

START_TEST(restarts_past_the_memory_bound_with_a_mem_engine)
{
	with_mem_engine = true;
	config.native_mem_bytes = 0;
	check_restarts_past_the_memory_bound();
	ck_assert_int_eq(mem_engine.calls[START], 1);
}
END_TEST

START_TEST(mem_engine_stops_with_the_agent)
{
	with_mem_engine = true;
	config.native_mem_bytes = 0;
	start_agent();
	ck_assert(eventually(agent_is_running));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	ck_assert_int_eq(mem_engine.calls[STOP], 1);
	start_agent();
	ck_assert(eventually(five_reports));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
}
END_TEST

START_TEST(mem_engine_stops_with_an_engine_that_fails)
{
	with_mem_engine = true;
	config.native_mem_bytes = 0;
	engine.fails[DUMP] = "disk full";
	start_agent();
	ck_assert(eventually(has_ended));
	ck_assert_int_eq(mem_engine.calls[STOP], 1);
}
END_TEST

START_TEST(each_report_has_its_labels)
{
	with_mem_engine = _i & 1;
	config.native_mem_bytes = with_mem_engine ? 0 : OPTION_OFF;
	labels.wanted = true;
	labels.error = _i & 2 ? -ENOSPC : 0; /* continues without them */
	engine.cannot_dump = _i & 4;         /* rotates by restart */
	start_agent();
	ck_assert(eventually(five_reports));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	ck_assert_uint_eq(labels.count, (unsigned)got.count);
	check_serials();
}
END_TEST

START_TEST(reporter_that_fails_changes_nothing)
{
	got.error = -EIO;
	start_agent();
	ck_assert(eventually(five_reports));
	ck_assert(agent_is_running());
	agent_stop(10ull * SECOND);
	check_serials();
}
END_TEST

START_TEST(failed_start_ends_the_agent)
{
	engine.fails[START] = "no perf events";
	start_agent();
	ck_assert(eventually(no_thread));
	ck_assert_int_eq(agent_stop(SECOND), -ESRCH);
	ck_assert_int_eq(got.count, 0);
	ck_assert_int_eq(engine.calls[STOP], 0);
}
END_TEST

START_TEST(failed_dump_ends_the_agent)
{
	engine.fails[DUMP] = "disk full";
	start_agent();
	ck_assert(eventually(has_ended));
	ck_assert(eventually(runs_no_more)); /* its last steps come after that */
	ck_assert_int_eq(got.count, 0);
}
END_TEST

/* The engine may continue to write: its descriptor, and so the file, must stay. */
START_TEST(failed_stop_leaves_the_file)
{
	engine.cannot_dump = true;
	engine.fails[STOP] = "it hangs";
	start_agent();
	ck_assert(eventually(has_ended));
	ck_assert_int_eq(engine.calls[START], 1);
	ck_assert_int_ge(fcntl(engine.recording, F_GETFD), 0);
}
END_TEST

/* As async-profiler does in a Java program that exits. */
START_TEST(engine_that_has_ended_is_reported)
{
	start_agent();
	ck_assert(eventually(five_reports));
	engine.ends = true;
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
	ck_assert(got.final[got.count - 1]);
	ck_assert_int_eq(got.count, engine.serial);
	ck_assert_int_eq(got.drains, 1);
}
END_TEST

START_TEST(engine_that_ends_between_reports_is_reported)
{
	engine.ends = true;
	start_agent();
	ck_assert(eventually(a_final_report));
	ck_assert_int_eq(got.count, 1);
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	ck_assert_int_eq(got.count, 1);
	ck_assert_int_eq(got.drains, 1);
}
END_TEST

START_TEST(flush_reports_at_once)
{
	config.reporting_interval_ns = 3600ull * SECOND;
	start_agent();
	ck_assert(eventually(agent_is_running));
	ck_assert_int_eq(agent_flush(10ull * SECOND), 0);
	ck_assert_int_eq(got.count, 1);
	ck_assert_int_eq(agent_flush(10ull * SECOND), 0);
	ck_assert_int_eq(got.count, 2);
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
	ck_assert_int_eq(agent_flush(SECOND), -ESRCH);
}
END_TEST

static void *flush(void *unused)
{
	ck_assert_int_eq(agent_flush(10ull * SECOND), 0);
	return unused;
}

/* Samples since the cut for the present report are in the next one. */
START_TEST(flush_during_a_report_waits_for_the_next)
{
	pthread_t other;
	sem_t delivering;

	config.reporting_interval_ns = 3600ull * SECOND;
	ck_assert_int_eq(sem_init(&delivering, 0, 0), 0);
	got.slowly = &delivering;
	start_agent();
	ck_assert(eventually(agent_is_running));
	ck_assert_int_eq(pthread_create(&other, NULL, flush, NULL), 0);
	ck_assert_int_eq(sem_wait(&delivering), 0);
	flush(NULL);
	ck_assert_int_eq(got.count, 2);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	check_serials();
}
END_TEST

START_TEST(stop_in_the_delay_touches_nothing)
{
	due_ns = clock_monotonic_ns() + 3600ull * SECOND;
	start_agent();
	ck_assert_int_eq(agent_stop(SECOND), 0);
	ck_assert(eventually(no_thread));
	ck_assert_int_eq(engine.calls[START], 0);
	ck_assert_int_eq(got.closes, 0);
	ck_assert_int_eq(ends, 1);
}
END_TEST

/* The program waits for the start of an engine and for the last report, together no longer than its time limit. */
START_TEST(the_wait_for_a_start_counts_at_the_end)
{
	uint64_t began;

	atomic_store(&shared->agent.state, AGENT_STARTING);
	agent_before_exit(SECOND);
	began = clock_monotonic_ns();
	ck_assert_int_eq(agent_stop(SECOND), -ETIMEDOUT);
	ck_assert_uint_lt(shared->agent.stop_by_ns, began + SECOND);
	agent_forget();
}
END_TEST

static void ask_at_the_end(void)
{
	agent_request_report();
	atomic_fetch_add(&shared->agent.follows_asked, 1);
	atomic_store(&shared->agent.setting.state, SETTING_ASKED);
}

/* A thread that sends a request while the agent ends gets an answer, and a futex word that has
 * changed. */
START_TEST(a_question_at_the_end_is_answered)
{
	ck_assert_int_eq(agent_start(due_ns, begin, ask_at_the_end), 0);
	ck_assert(eventually(five_reports));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	ck_assert(eventually(no_thread));
	ck_assert_uint_eq(shared->agent.flushes_done, shared->agent.flushes_asked);
	ck_assert_uint_eq(shared->agent.follows_done, shared->agent.follows_asked);
	ck_assert_uint_eq(shared->agent.setting.state, SETTING_ANSWERED);
	ck_assert_int_eq(shared->agent.setting.err, -ESRCH);
}
END_TEST

static bool a_report(void)
{
	return got.count >= 1;
}

/* The queue spreads the requests of a fleet; the intervals are not shortened. */
START_TEST(the_first_interval_is_whole_with_a_bucket)
{
	uint64_t began = clock_monotonic_ns();

	config.s3_bucket = "bucket";
	config.reporting_interval_ns = SECOND;
	start_agent();
	ck_assert(eventually(a_report));
	ck_assert_uint_ge(clock_monotonic_ns() - began, SECOND);
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
}
END_TEST

START_TEST(starts_again_after_a_stop)
{
	start_agent();
	ck_assert(eventually(agent_is_running));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	start_agent();
	ck_assert(eventually(agent_is_running));
	ck_assert_int_eq(agent_stop(10ull * SECOND), 0);
	ck_assert_int_eq(engine.calls[START], 2);
	check_serials();
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("agent");

	tcase_add_checked_fixture(c, set_up, NULL);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, reports_each_interval);
	tcase_add_test(c, restarts_where_dump_cannot_rotate);
	tcase_add_test(c, restarts_past_the_memory_bound);
	tcase_add_test(c, restarts_past_the_memory_bound_with_a_mem_engine);
	tcase_add_test(c, mem_engine_stops_with_the_agent);
	tcase_add_test(c, mem_engine_stops_with_an_engine_that_fails);
	tcase_add_loop_test(c, each_report_has_its_labels, 0, 8);
	tcase_add_test(c, reporter_that_fails_changes_nothing);
	tcase_add_test(c, failed_start_ends_the_agent);
	tcase_add_test(c, failed_dump_ends_the_agent);
	tcase_add_test(c, failed_stop_leaves_the_file);
	tcase_add_test(c, engine_that_has_ended_is_reported);
	tcase_add_test(c, engine_that_ends_between_reports_is_reported);
	tcase_add_test(c, flush_reports_at_once);
	tcase_add_test(c, flush_during_a_report_waits_for_the_next);
	tcase_add_test(c, stop_in_the_delay_touches_nothing);
	tcase_add_test(c, the_wait_for_a_start_counts_at_the_end);
	tcase_add_test(c, a_question_at_the_end_is_answered);
	tcase_add_test(c, the_first_interval_is_whole_with_a_bucket);
	tcase_add_test(c, starts_again_after_a_stop);
	return suite_run(c);
}
