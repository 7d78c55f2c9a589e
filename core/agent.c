/* The agent: one thread that starts an engine, closes a report each interval, and hands it to
 * the reporters. */
#include "core/agent.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/random.h"
#include "core/recording.h"
#include "core/start_string.h"

/* async-profiler keeps every stack that it has seen since its start. Past this much it is
 * restarted between two reports. */
#define ENGINE_MEMORY_MAX_KB (32u << 10)

/* What it prints for one command; the rest is cut. */
#define ENGINE_OUTPUT_MAX 8192

enum phase {
	AGENT_NONE,    /* no thread, or one that touches nothing any more */
	AGENT_DELAYED, /* the start delay is running; nothing was touched yet */
	AGENT_STARTING,
	AGENT_RUNNING,
};

/* In the state beside a phase: the thread is to end. */
#define STOP 0x100u

static struct {
	struct agent_parts parts;
	struct wake wake;
	_Atomic uint32_t state; /* enum phase, STOP; a futex for those who wait for an end */
	_Atomic uint32_t flushes_asked; /* so often, since the process began */
	_Atomic uint32_t flushes_done;  /* of these; a futex for those who wait */
	_Atomic uint64_t stop_by_ns;
	const struct engine *_Atomic running_engine;
	/* Of an engine that failed to start or to stop: it may write there for ever. */
	struct recording *left_to_engine;
} agent;

/* What the agent thread alone knows. */
struct run {
	const struct config *config;
	struct agent_equipment with;
	struct recording *recording;
	struct recording *mem_recording; /* NULL when mem_engine does not run */
	char executable[64];
	char engine_version[64];
	uint64_t interval_began_ms, next_tick_ns;
	uint64_t samples_taken, samples_lost; /* at the end of the last interval */
	uint64_t engine_memory_kb;            /* likewise; 0 where the engine does not tell */
	bool rotates_by_restart;              /* dump does not finish a chunk */
};

/* Why what was tried last has failed. Whoever knows what follows from it says both in one line. */
static char failure[512];

__attribute__((format(printf, 2, 3))) static int failed(int err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(failure, sizeof(failure), format, list);
	va_end(list);
	return err;
}

/* asprof_execute's callback has no context of its own. */
static struct buf engine_output = BUF_INIT(ENGINE_OUTPUT_MAX);

static void take_output(const char *text, size_t size)
{
	size_t room = engine_output.max - 1 - engine_output.length;

	buf_append(&engine_output, text, size < room ? size : room);
}

/* What the engine says goes to the log, a line at a time, unless it was asked to tell us. */
static void log_output(const char *engine)
{
	char *rest = (char *)buf_string(&engine_output), *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (strstr(line, "[WARN]") || strstr(line, "[ERROR]"))
			log_warn("%s: %s", engine, line);
		else if (*line)
			log_info("%s: %s", engine, line);
	}
}

/* Run COMMAND; 0, or -EIO as failed() has it. */
static int execute(const struct engine *engine, const char *command, bool quiet)
{
	asprof_error_t err;

	buf_reset(&engine_output);
	err = engine->execute(command, take_output);
	if (!quiet || err)
		log_output(engine->name);
	if (!err)
		return 0;
	return failed(-EIO, "%s: %.*s failed: %s", engine->name, (int)strcspn(command, ","),
		      command, engine->error_str(err));
}

/* The number on the line "NAME number" of what the engine printed. */
static uint64_t metric(const char *name)
{
	const char *text = buf_string(&engine_output);
	size_t length = strlen(name);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, name, length) && text[length] == ' ')
			return strtoull(text + length, NULL, 10);
	}
	return 0;
}

static int start_engine(struct run *run)
{
	struct buf command = BUF_INIT(PATH_MAX + 4096);
	int err;

	err = recording_open(&run->recording, run->config->spool_dir);
	if (err)
		return failed(err, "cannot make a file for the recording: %s", strerror(-err));
	err = start_string(&command, run->config, recording_path(run->recording),
			   !run->with.mem_engine);
	if (err == -EINVAL)
		failed(err,
		       "nothing to sample: CPU_INTERVAL, WALL_INTERVAL and NATIVE_MEM are off");
	else if (err)
		failed(err, "cannot make the start command: %s", strerror(-err));
	if (!err) {
		log_debug("%s: %s", run->with.engine->name, buf_string(&command));
		err = execute(run->with.engine, buf_string(&command), false);
	}
	run->samples_taken = run->samples_lost = 0;
	buf_free(&command);
	return err;
}

/* What only samples memory must not keep the rest from being profiled: without it, then. */
static void start_mem_engine(struct run *run)
{
	struct config mem_only = *run->config;
	struct buf command = BUF_INIT(PATH_MAX + 4096);
	int err;

	if (!run->with.mem_engine)
		return;
	mem_only.cpu_interval_ns = mem_only.wall_interval_ns = OPTION_OFF;
	mem_only.engine_options = "beside"; /* those set are for the other */
	err = recording_open(&run->mem_recording, run->config->spool_dir);
	if (!err)
		err = start_string(&command, &mem_only, recording_path(run->mem_recording), true);
	if (err)
		failed(err, "cannot prepare a recording: %s", strerror(-err));
	else
		err = execute(run->with.mem_engine, buf_string(&command), false);
	if (err) {
		log_error("%s; native memory is not sampled in this process", failure);
		if (run->mem_recording)
			recording_close(run->mem_recording);
		run->mem_recording = NULL;
	}
	buf_free(&command);
}

static void stop_mem_engine(struct run *run)
{
	if (!run->mem_recording)
		return;
	if (!execute(run->with.mem_engine, "stop", false))
		recording_close(run->mem_recording);
	else
		log_error("%s", failure);
	run->mem_recording = NULL;
}

/* As recording_cut, with what ENGINE wrote. */
static int cut(struct recording *recording, struct report_part *part, const struct engine *engine)
{
	int err = recording_cut(recording, part);

	if (err)
		failed(err, "%s: what it wrote is not a recording: %s", engine->name,
		       strerror(-err));
	return err;
}

/* Add the memory of the interval to REPORT. */
static void add_mem_part(struct run *run, struct report *report)
{
	struct report_part *part = &report->parts[report->part_count];

	if (!run->mem_recording)
		return;
	if (execute(run->with.mem_engine, "dump,jfr", false) ||
	    cut(run->mem_recording, part, run->with.mem_engine)) {
		log_error("%s; native memory is not sampled from now on", failure);
		stop_mem_engine(run);
	} else if (part->length) {
		report->part_count++;
	}
}

/* Fill in what was sampled since the last report, and see how large the engine has grown. */
static void read_metrics(struct run *run, struct report *report)
{
	uint64_t taken, lost;

	run->engine_memory_kb = 0;
	if (execute(run->with.engine, "metrics", true))
		return; /* older ones do not have it */
	run->engine_memory_kb = metric("mem_calltracestorage_kb") + metric("mem_flightrecorder_kb");
	taken = metric("samples_total");
	lost = metric("samples_skipped_total");
	report->samples_taken = taken - (taken >= run->samples_taken ? run->samples_taken : 0);
	report->samples_lost = lost - (lost >= run->samples_lost ? run->samples_lost : 0);
	run->samples_taken = taken;
	run->samples_lost = lost;
}

static void deliver(struct run *run, const struct report *report)
{
	for (size_t i = 0; i < run->with.reporter_count; i++) {
		struct reporter *reporter = run->with.reporters[i];

		/* It says itself what went wrong; profiling goes on. */
		reporter->deliver(reporter, report);
	}
}

/* Cut what is finished, and report it when there is something. */
static int report_interval(struct run *run, bool final)
{
	struct report report = {
		.start_ms = run->interval_began_ms,
		.end_ms = clock_realtime_ns() / 1000000u,
		.interval_ms = run->config->reporting_interval_ns / 1000000u,
		.pid = getpid(),
		.executable = run->executable,
		.engine = run->with.engine->name,
		.engine_version = run->engine_version,
		.final = final,
	};
	int err = cut(run->recording, &report.parts[0], run->with.engine);

	if (err)
		return err;
	if (!report.parts[0].length)
		return 0;
	report.part_count = 1;
	read_metrics(run, &report);
	add_mem_part(run, &report);
	deliver(run, &report);
	recording_release(run->recording, &report.parts[0]);
	if (report.part_count > 1)
		recording_release(run->mem_recording, &report.parts[1]);
	run->interval_began_ms = report.end_ms;
	return 1;
}

/* Stop, report, start on a new file. */
static int restart_engine(struct run *run)
{
	int err = execute(run->with.engine, "stop", false);

	if (err)
		return err;
	err = report_interval(run, false);
	if (err < 0)
		return err;
	recording_close(run->recording);
	run->recording = NULL;
	return start_engine(run);
}

static int rotate(struct run *run)
{
	int err;

	if (run->rotates_by_restart)
		return restart_engine(run);
	err = execute(run->with.engine, "dump,jfr", false);
	if (err)
		return err;
	err = report_interval(run, false);
	if (err < 0)
		return err;
	if (!err) {
		log_info(
			"%s cannot close a chunk while it goes on; it is restarted for each report",
			run->with.engine->name);
		run->rotates_by_restart = true;
		return restart_engine(run);
	}
	return run->engine_memory_kb > ENGINE_MEMORY_MAX_KB ? restart_engine(run) : 0;
}

/* What was asked for up to number ASKED is done. */
static void answer_flushes(uint32_t asked)
{
	if (atomic_exchange(&agent.flushes_done, asked) != asked)
		futex_wake(&agent.flushes_done);
}

static uint32_t phase(void)
{
	return atomic_load(&agent.state) & ~STOP;
}

static bool stop_is_asked(void)
{
	return atomic_load(&agent.state) & STOP;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A fleet that was started at one moment must not send at one moment: where reports are sent,
 * the first interval is shorter, by up to a half, and all later ones keep that beat. */
static uint64_t first_interval(const struct config *config)
{
	uint64_t interval = config->reporting_interval_ns;

	return config->s3_bucket ? interval - random_below(interval / 2 + 1) : interval;
}

/* Sample and report until asked to stop, or until the engine fails. */
static int loop(struct run *run)
{
	const struct engine *engine = run->with.engine;
	uint64_t interval = run->config->reporting_interval_ns, now, service_ns;
	uint32_t asked;
	int err = 0;

	run->next_tick_ns = clock_monotonic_ns() + first_interval(run->config);
	while (!err && !stop_is_asked()) {
		now = clock_monotonic_ns();
		service_ns = engine->service ? engine->service(now) : UINT64_MAX;
		if (run->mem_recording && run->with.mem_engine->service)
			service_ns = min(service_ns, run->with.mem_engine->service(now));
		/* One that is asked for while a report is on its way is for the next. */
		asked = atomic_load(&agent.flushes_asked);
		if (now >= run->next_tick_ns || asked != atomic_load(&agent.flushes_done)) {
			err = rotate(run);
			/* On the beat; but a beat that was missed is not made up for. */
			while (run->next_tick_ns <= now)
				run->next_tick_ns += interval;
			answer_flushes(asked);
			continue;
		}
		wake_wait(&agent.wake, min(run->next_tick_ns, service_ns));
	}
	return err;
}

/* Stop the engine and report what it has sampled last. */
static void finish(struct run *run)
{
	if (execute(run->with.engine, "stop", false)) {
		log_error("%s; the last profile is lost", failure);
		return;
	}
	if (report_interval(run, true) < 0)
		log_error("%s", failure);
	recording_close(run->recording);
	run->recording = NULL;
}

static void drain_reporters(struct run *run)
{
	uint64_t deadline = atomic_load(&agent.stop_by_ns);

	for (size_t i = 0; i < run->with.reporter_count; i++) {
		struct reporter *reporter = run->with.reporters[i];

		if (reporter->drain)
			reporter->drain(reporter, deadline);
	}
}

static void close_reporters(struct run *run)
{
	for (size_t i = 0; i < run->with.reporter_count; i++)
		run->with.reporters[i]->close(run->with.reporters[i]);
}

static void learn_version(struct run *run)
{
	const char *text;

	if (execute(run->with.engine, "version", true))
		return;
	text = buf_string(&engine_output);
	if (text)
		snprintf(run->engine_version, sizeof(run->engine_version), "%.*s",
			 (int)strcspn(text, "\n"), text);
}

/* False when a stop comes first: nothing was touched, and nothing is. */
static bool wait_out_delay(uint64_t delay_ns)
{
	uint64_t until = clock_monotonic_ns() + delay_ns;
	uint32_t delayed = AGENT_DELAYED;

	while (!stop_is_asked() && clock_monotonic_ns() < until)
		wake_wait(&agent.wake, until);
	return atomic_compare_exchange_strong(&agent.state, &delayed, AGENT_STARTING);
}

static void *run_agent(void *unused)
{
	struct run run = { .config = agent.parts.config };
	int err;

	(void)unused;
	if (!wait_out_delay(run.config->start_delay_ns))
		goto out;
	executable_name(run.executable, sizeof(run.executable));
	err = agent.parts.prepare(&run.with, run.config, &agent.wake);
	if (err)
		goto out;
	learn_version(&run);
	run.interval_began_ms = clock_realtime_ns() / 1000000u;
	err = start_engine(&run);
	if (err) {
		log_error("%s; profiling is off in this process", failure);
		goto out;
	}
	start_mem_engine(&run);
	atomic_store(&agent.running_engine, run.with.engine);
	agent.parts.started();
	atomic_fetch_add(&agent.state, AGENT_RUNNING - AGENT_STARTING); /* a STOP stays */
	log_info("profiling %s with %s %s", run.executable, run.with.engine->name,
		 run.engine_version);
	err = loop(&run);
	atomic_store(&agent.running_engine, NULL);
	if (err)
		log_error("%s; profiling is off in this process from now on", failure);
	else
		finish(&run);
	stop_mem_engine(&run);
	if (!err)
		drain_reporters(&run);
out:
	agent.left_to_engine = run.recording;
	close_reporters(&run);
	buf_free(&engine_output);
	atomic_store(&agent.state, AGENT_NONE);
	futex_wake(&agent.state);
	answer_flushes(atomic_load(&agent.flushes_asked));
	return NULL;
}

int agent_start(const struct agent_parts *parts)
{
	uint32_t none = AGENT_NONE;
	int err;

	if (!atomic_compare_exchange_strong(&agent.state, &none, AGENT_DELAYED))
		return -EALREADY;
	agent.parts = *parts;
	err = own_thread_start("asprof-agent", run_agent, NULL);
	if (err)
		atomic_store(&agent.state, AGENT_NONE);
	return err;
}

bool agent_running(void)
{
	return phase() == AGENT_RUNNING;
}

const struct engine *agent_engine(void)
{
	return atomic_load(&agent.running_engine);
}

static uint32_t ask_for_flush(void)
{
	uint32_t number = atomic_fetch_add(&agent.flushes_asked, 1) + 1;

	wake_up(&agent.wake);
	return number;
}

int agent_flush(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t number, done;
	int err = 0;

	if (!agent_running() || own_thread_is())
		return -ESRCH;
	number = ask_for_flush();
	/* The agent may end before it sees the question. */
	while (err != -ETIMEDOUT && phase() != AGENT_NONE &&
	       (int32_t)(number - (done = atomic_load(&agent.flushes_done))) > 0)
		err = futex_wait_until(&agent.flushes_done, done, deadline);
	return err == -ETIMEDOUT ? err : 0;
}

void agent_report_now(void)
{
	ask_for_flush();
}

int agent_stop(uint64_t timeout_ns)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t state = atomic_load(&agent.state);
	int saved = errno, err = 0;

	if (state == AGENT_NONE || own_thread_is())
		return -ESRCH;
	atomic_store(&agent.stop_by_ns, deadline);
	while (!atomic_compare_exchange_weak(&agent.state, &state, state | STOP))
		if (state == AGENT_NONE)
			return 0; /* it has ended by itself meanwhile */
	wake_up(&agent.wake);
	if (state == AGENT_DELAYED)
		return 0; /* as good as ended */
	while (err != -ETIMEDOUT && (state = atomic_load(&agent.state)) & STOP)
		err = futex_wait_until(&agent.state, state, deadline);
	errno = saved;
	return err == -ETIMEDOUT ? err : 0;
}

void agent_before_exit(uint64_t timeout_ns)
{
	static const struct timespec a_while = { .tv_nsec = 500000 };
	uint64_t deadline = clock_monotonic_ns() + timeout_ns;
	uint32_t delayed = AGENT_DELAYED;

	atomic_compare_exchange_strong(&agent.state, &delayed, AGENT_DELAYED | STOP);
	while (phase() == AGENT_STARTING && clock_monotonic_ns() < deadline)
		nanosleep(&a_while, NULL);
}

void agent_forget(void)
{
	atomic_store(&agent.running_engine, NULL);
	atomic_store(&agent.state, AGENT_NONE);
	atomic_store(&agent.flushes_done, atomic_load(&agent.flushes_asked));
	engine_output = (struct buf)BUF_INIT(ENGINE_OUTPUT_MAX);
	own_thread_forget();
}
