/* A session of profiling, from an engine's start to its stop. */
#include "core/agent/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/agent/engine_command.h"
#include "core/agent/failure.h"
#include "core/log.h"
#include "core/executable.h"
#include "asyncprof/java.h"
#include "core/agent/samples.h"
#include "core/agent/engine_start.h"

/* async-profiler keeps every stack that it has seen since its start. Past this much it is
 * restarted between two reports. */
#define ENGINE_MEMORY_MAX_KB (32u << 10)

#define NS_PER_MS 1000000u

/* async-profiler has what it sampled in its own memory until a chunk is finished. Where the recording is to
 * outlive the process one is finished so often, and less often where that takes more than a share of
 * a processor's time. */
#define CHUNK_NS      75000000u
#define CHUNK_MOST_NS 3000000000u
#define CHUNK_SHARE   200

/* While it does so it takes no samples. An allocation or its end that it does not see is missed as long as that lives, so
 * where it samples these, too, it does so less often. */
#define CHUNK_WITH_MEMORY_NS 1000000000u

/* Whom the reports are of, and what they have in common. HOST is room for its name. */
static struct report session_describe(const struct session *s, char host[HOST_NAME_MAX + 1])
{
	struct report report = {
		.start_ms = s->interval_began_ms,
		.end_ms = clock_realtime_ns() / NS_PER_MS,
		.interval_ms = s->config->reporting_interval_ns / NS_PER_MS,
		.pid = getpid(),
		.executable = s->executable,
		.host = host,
		.group = s->config->profiling_group,
		.tags = s->config->tags ? s->config->tags : "",
		.version = s->with.version,
		.engine = s->all.engine->name,
		.engine_version = s->engine_version,
		.sampling = s->sampling,
	};

	memset(host, 0, HOST_NAME_MAX + 1);
	gethostname(host, HOST_NAME_MAX); /* which may change */
	return report;
}

/* Have the running recording lie where it outlives the process. Returns 0 or -errno. */
static int session_create_running_files(struct session *s)
{
	struct running_files files = RUNNING_FILES_NONE;
	struct buf note = BUF_INIT(RUNNING_NOTE_MAX);
	char host[HOST_NAME_MAX + 1];
	struct report whom = session_describe(s, host);
	int err = -ENOENT;

	for (size_t i = 0; i < s->with.reporter_count && err; i++) {
		struct reporter *reporter = s->with.reporters[i];

		if (reporter->keep)
			err = reporter->keep(reporter, &whom, &files, &note);
	}
	if (!err)
		err = running_files_write_note(&s->kept, &files, &note);
	buf_free(&note);
	return err;
}

static bool source_is_served(const struct source *source)
{
	return source->engine->service != NULL;
}

static void session_close_running_files(struct session *s)
{
	kept_close(s->kept);
	s->kept = NULL;
}

/* The spool does not take what it should: memory has to do. */
static void session_disable_spool(struct session *s, const char *why)
{
	if (!s->has_spool_failed)
		log_warn("the running recording is not kept in " OPTION_PREFIX
			 "SPOOL_DIR: %s; what "
			 "is not reported yet is lost with a process that is killed",
			 why);
	s->has_spool_failed = true;
	s->chunk_due_ns = UINT64_MAX;
	if (s->kept)
		running_files_unlink(s->kept);
}

static uint64_t chunk_ns(const struct session *s)
{
	return s->config->native_mem_bytes != OPTION_OFF && !s->with.mem_engine
		       ? CHUNK_WITH_MEMORY_NS
		       : CHUNK_NS;
}

/* In the spool, where there is one, or in memory. What the agent's thread does not write itself comes to the
 * spool by way of memory. */
static int session_open_recording(struct session *s)
{
	bool wanted = s->config->spool_dir && !s->has_spool_failed;
	int err = wanted && !s->kept ? session_create_running_files(s) : 0;
	int fd = wanted && s->kept ? kept_chunks(s->kept) : -ENOENT;

	s->chunk_due_ns = UINT64_MAX;
	if (err && err != -ENOENT)
		session_disable_spool(s, strerror(-err));
	else if (fd < 0 && fd != -ENOENT)
		session_disable_spool(s, strerror(-fd));
	if (fd >= 0 && source_is_served(&s->all))
		return recording_open_in(&s->all.recording, fd);
	err = recording_open(&s->all.recording, s->config->spool_dir);
	if (err && fd >= 0)
		close(fd);
	if (!err && fd >= 0) {
		recording_move_to(s->all.recording, fd);
		s->chunk_due_ns = clock_monotonic_ns() + chunk_ns(s);
	}
	return err;
}

/* Start SOURCE on its new recording, which OPENED tells of, with the sampling that CONFIG asks for; that
 * of native memory only with MEM. When it fails the recording stays: the engine may have it open. */
static int source_start(struct source *source, const struct config *config, bool mem, int opened)
{
	struct buf command = BUF_INIT(PATH_MAX + 4096);
	int err = opened;

	if (err)
		return failed(err, "cannot make a file for the recording: %s", strerror(-err));
	err = start_string(&command, config, recording_path(source->recording), mem);
	if (err == -EINVAL) {
		failed(err,
		       "nothing to sample: CPU_INTERVAL, WALL_INTERVAL and NATIVE_MEM are off");
	} else if (err) {
		failed(err, "cannot make the start command: %s", strerror(-err));
	} else {
		log_debug("%s: %s", source->engine->name, buf_string(&command));
		err = engine_command(source->engine, buf_string(&command));
	}
	buf_free(&command);
	return err;
}

static void source_close(struct source *source)
{
	recording_close(source->recording);
	source->recording = NULL;
}

static void source_leak(struct source *source)
{
	recording_leak(source->recording);
	source->recording = NULL;
}

/* As recording_cut. */
static int source_cut(struct source *source, struct report_part *part)
{
	int err = recording_cut(source->recording, part);

	if (err)
		failed(err, "%s: what it wrote is not a recording: %s", source->engine->name,
		       strerror(-err));
	return err;
}

/* What it had is reported, or lost: there is nothing to recover, unless that of native memory goes on. */
static void session_close_all(struct session *s)
{
	source_close(&s->all);
	if (!s->mem.recording)
		session_close_running_files(s);
}

static int session_start_all(struct session *s)
{
	bool mem = !s->with.mem_engine;
	int err;

	s->counted = (struct engine_counts){ 0 };
	s->began_ms = clock_realtime_ns() / NS_PER_MS;
	if (!source_is_served(&s->all))
		s->sampling = builtin_start_sampling(s->config, mem);
	err = source_start(&s->all, s->config, mem, session_open_recording(s));
	if (!err || !s->kept || !source_is_served(&s->all))
		return err;
	/* A disk that has room for a file, and none for what is in it. */
	log_warn("%s; the recording is begun anew in memory", failure());
	s->has_spool_failed = true;
	session_close_all(s);
	return source_start(&s->all, s->config, mem, session_open_recording(s));
}

static int session_open_mem(struct session *s)
{
	int fd =
		s->kept && !s->has_spool_failed ? running_files_dup_memory(s->kept, true) : -ENOENT;

	s->is_mem_in_spool = fd >= 0;
	return fd >= 0 ? recording_open_in(&s->mem.recording, fd)
		       : recording_open(&s->mem.recording, s->config->spool_dir);
}

/* What only samples memory must not keep the rest from being profiled. */
void session_start_mem(struct session *s)
{
	struct config mem_only = *s->config;

	if (!s->mem.engine || mem_only.native_mem_bytes == OPTION_OFF)
		return;
	mem_only.cpu_interval_ns = mem_only.wall_interval_ns = OPTION_OFF;
	mem_only.engine_options = NULL; /* those set are for the other */
	if (source_start(&s->mem, &mem_only, true, session_open_mem(s))) {
		log_error("%s; native memory is not sampled in this process", failure());
		source_close(&s->mem);
	}
}

void session_stop_mem(struct session *s)
{
	if (!s->mem.recording)
		return;
	if (engine_command(s->mem.engine, "stop")) {
		log_error("%s", failure());
		source_leak(&s->mem);
	} else {
		source_close(&s->mem);
	}
}

/* After a failure. */
static void session_handle_mem_failure(struct session *s)
{
	bool was_in_spool = s->is_mem_in_spool;

	log_error("%s; native memory is not sampled from now on%s", failure(),
		  was_in_spool ? ", but anew in memory" : "");
	if (was_in_spool)
		session_disable_spool(s, failure());
	session_stop_mem(s);
	if (was_in_spool)
		session_start_mem(s);
}

/* Add the memory of the interval to REPORT. False when there is none. */
static bool report_add_mem(struct session *s, struct report *report)
{
	struct report_part *part = &report->parts[report->part_count];

	if (!s->mem.recording)
		return false;
	if (engine_command(s->mem.engine, "dump,jfr") || source_cut(&s->mem, part)) {
		session_handle_mem_failure(s);
	} else if (part->length) {
		report->part_count++;
		return true;
	}
	return false;
}

/* Add FILE to REPORT, where writing it came to no error, ERR. Returns that, or what came then. */
static int report_add_file(struct report *report, struct recording *file, int err)
{
	struct report_part *part = &report->parts[report->part_count];

	if (!err)
		err = recording_cut(file, part);
	if (!err && part->length)
		report->part_count++;
	return err;
}

/* Add the crash that REPORT, the last one, is due to, if it is. Sets *FILE, which REPORT needs, or NULL. */
static void report_add_crash(struct session *s, struct report *report, struct recording **file)
{
	int err;

	*file = NULL;
	if (!report->final || !s->with.write_crash)
		return;
	err = recording_open(file, s->config->spool_dir);
	if (!err)
		err = s->with.write_crash(recording_fd(*file));
	err = report_add_file(report, *file, err);
	if (err && err != -ENODATA)
		log_warn("the last profile does not tell of the crash: %s", strerror(-err));
}

/* Add whom REPORT is of, in a file of its own: the engines' are not ours to write, and may be restarted
 * between two reports. Sets *FILE, which REPORT needs, or NULL. */
static void report_add_labels(struct session *s, struct report *report, struct recording **file)
{
	int err;

	*file = NULL;
	if (!s->with.write_labels)
		return;
	err = recording_open(file, s->config->spool_dir);
	if (!err)
		err = s->with.write_labels(recording_fd(*file), report);
	err = report_add_file(report, *file, err);
	if (err)
		log_warn("a profile does not tell its tags: %s", strerror(-err));
}

/* Fill in what was lost since the last report, and taken as far as the engine tells, and see how large
 * it has grown. */
static void report_add_counts(struct session *s, struct report *report)
{
	struct engine_counts now = { 0 }, *last = &s->counted;

	if (!s->all.engine->counts(s->all.engine, &now)) {
		last->memory_kb = 0;
		return;
	}
	report->samples_taken = now.taken - (now.taken >= last->taken ? last->taken : 0);
	report->samples_lost = now.lost - (now.lost >= last->lost ? last->lost : 0);
	*last = now;
}

/* What the report holds; an engine's own number is of the moment when it was asked. */
static void report_count_samples(struct report *report)
{
	uint64_t count = 0;
	int err = 0;

	for (size_t i = 0; i < report->part_count && !err; i++)
		err = samples_count(&report->parts[i], &count);
	if (err)
		log_debug("the samples of a report cannot be counted: %s", strerror(-err));
	else
		report->samples_taken = count;
}

static void deliver(struct session *s, const struct report *report)
{
	s->reports++;
	s->reports_ms = report->end_ms;
	for (size_t i = 0; i < s->capture_count; i++)
		if (!s->captures[i].err)
			s->captures[i].err = report_write(report, s->captures[i].fd);
	for (size_t i = 0; i < s->with.reporter_count; i++) {
		struct reporter *reporter = s->with.reporters[i];

		/* It says itself what went wrong; profiling goes on. */
		reporter->deliver(reporter, report);
	}
}

static void session_move_finished(struct session *s)
{
	int err = recording_move(s->all.recording);

	if (err)
		session_disable_spool(s, strerror(-err));
}

int session_dump(struct session *s, const struct source *source)
{
	int err = engine_command(source->engine, "dump,jfr");

	if (!err && source->recording == s->all.recording)
		session_move_finished(s);
	return err;
}

int session_copy(struct session *s, const struct source *sources, size_t count, int fd)
{
	char host[HOST_NAME_MAX + 1];
	struct report report = session_describe(s, host);
	struct recording *labels = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		struct report_part *part = &report.parts[report.part_count];

		if (!sources[i].recording)
			continue;
		err = session_dump(s, &sources[i]);
		if (!err)
			err = recording_peek(sources[i].recording, part);
		if (!err && part->length)
			report.part_count++;
	}
	if (!err && report.part_count)
		report_add_labels(s, &report, &labels);
	if (!err)
		err = report_write(&report, fd);
	recording_close(labels);
	return err;
}

/* Where REPORT, whose part of native memory comes second, was handed on but not said here yet, it may come
 * twice; the other way it might be lost. */
static void session_write_cut(struct session *s, const struct report *report, bool with_mem)
{
	const struct report_part *all = &report->parts[0], *mem = &report->parts[1];

	if (s->kept)
		running_files_write_cut(s->kept, all->offset + (off_t)all->length,
					with_mem ? mem->offset + (off_t)mem->length : 0);
}

/* Cut what is finished, and report it. Returns 1, or 0 when there was nothing, or -errno. */
static int session_report_finished(struct session *s, bool final)
{
	char host[HOST_NAME_MAX + 1];
	struct report report = session_describe(s, host);
	struct recording *crash, *labels;
	bool with_mem;
	int err;

	session_move_finished(s);
	err = source_cut(&s->all, &report.parts[0]);
	report.final = final;
	if (err)
		return err;
	if (!report.parts[0].length)
		return 0;
	report.part_count = 1;
	report_add_counts(s, &report);
	with_mem = report_add_mem(s, &report);
	report_add_crash(s, &report, &crash);
	report_count_samples(&report);
	report_add_labels(s, &report, &labels);
	deliver(s, &report);
	recording_close(labels);
	recording_close(crash);
	session_write_cut(s, &report, with_mem);
	recording_release(s->all.recording, &report.parts[0]);
	if (with_mem)
		recording_release(s->mem.recording, &report.parts[1]);
	s->interval_began_ms = report.end_ms;
	return 1;
}

/* After a command failed. async-profiler stops with the Java machine, as that begins to exit, and
 * what it had is a finished chunk then, the last. */
static bool has_ended(struct session *s)
{
	if (!source_is_served(&s->all))
		s->ended = session_report_finished(s, true) > 0;
	if (s->ended && session_can_restart(s))
		log_warn("%s was stopped by somebody else, who uses it in this process, too; there "
			 "is no "
			 "profile of what comes after",
			 s->all.engine->name);
	return s->ended;
}

int session_restart(struct session *s)
{
	int err = engine_command(s->all.engine, "stop");

	if (err)
		return has_ended(s) ? 0 : err;
	err = session_report_finished(s, false);
	if (err < 0)
		return err;
	session_close_all(s);
	return session_start_all(s);
}

/* The disk has no more room, or does not work: the program's memory has to do. */
static int session_leave_spool(struct session *s)
{
	log_error("%s; the recording goes on in memory, without what came since the last report",
		  failure());
	s->has_spool_failed = true;
	engine_command(s->all.engine, "stop");
	session_report_finished(s, false); /* of several chunks some may be whole */
	session_close_all(s);
	return session_start_all(s);
}

bool session_can_restart(const struct session *s)
{
	return s->all.engine->service || !java_is_loaded();
}

int session_report(struct session *s)
{
	int err;

	if (s->ended || s->paused)
		return 0;
	if (s->rotates_by_restart)
		return session_restart(s);
	err = engine_command(s->all.engine, "dump,jfr");
	if (err && has_ended(s))
		return 0;
	if (err)
		return s->kept && source_is_served(&s->all) ? session_leave_spool(s) : err;
	err = session_report_finished(s, false);
	if (err < 0)
		return err;
	if (!err) {
		log_info(
			"%s cannot close a chunk while it goes on; it is restarted for each report",
			s->all.engine->name);
		s->rotates_by_restart = true;
		return session_restart(s);
	}
	return s->counted.memory_kb > ENGINE_MEMORY_MAX_KB && session_can_restart(s)
		       ? session_restart(s)
		       : 0;
}

int session_start(struct session *s)
{
	int err;

	executable_name(s->executable, sizeof(s->executable));
	s->all.engine = s->with.engine;
	s->mem.engine = s->with.mem_engine;
	s->all.engine->version(s->all.engine, s->engine_version, sizeof(s->engine_version));
	s->interval_began_ms = clock_realtime_ns() / NS_PER_MS;
	err = session_start_all(s);
	if (!err)
		session_start_mem(s);
	return err;
}

static uint64_t service(const struct source *source, uint64_t now_ns)
{
	return source->recording && source->engine->service ? source->engine->service(now_ns)
							    : UINT64_MAX;
}

/* Where it fails the next report sees to it. */
static uint64_t session_end_due_chunks(struct session *s, uint64_t now_ns)
{
	uint64_t least_ns = chunk_ns(s), began_ns, took_ns, pause_ns;
	int err;

	if (s->paused || s->ended || s->rotates_by_restart)
		return UINT64_MAX;
	if (now_ns < s->chunk_due_ns)
		return s->chunk_due_ns;
	s->chunk_due_ns = UINT64_MAX;
	began_ns = clock_cpu_ns();
	err = session_dump(s, &s->all);
	if (err || s->has_spool_failed)
		return UINT64_MAX;
	took_ns = clock_cpu_ns() - began_ns;
	if (s->all.engine->took_ns)
		took_ns += s->all.engine->took_ns();
	/* One alone may have had to read all symbols. */
	pause_ns = CHUNK_SHARE * (took_ns < s->chunk_took_ns ? took_ns : s->chunk_took_ns);
	s->chunk_took_ns = took_ns;
	if (pause_ns < least_ns)
		pause_ns = least_ns;
	s->chunk_due_ns = now_ns + (pause_ns < CHUNK_MOST_NS ? pause_ns : CHUNK_MOST_NS);
	return s->chunk_due_ns;
}

uint64_t session_service(struct session *s, uint64_t now_ns)
{
	uint64_t all = service(&s->all, now_ns), mem = service(&s->mem, now_ns),
		 chunk = session_end_due_chunks(s, now_ns);

	all = all < mem ? all : mem;
	return all < chunk ? all : chunk;
}

/* Stop the engines, and report what they have sampled last. */
static void session_stop_all(struct session *s, bool final)
{
	bool failed = false;

	session_stop_thread_sampler(s);
	if (!s->ended && !s->paused) {
		failed = engine_command(s->all.engine, "stop") != 0;
		if (failed && has_ended(s))
			failed = false;
		else if (failed)
			log_error("%s; the last profile is lost", failure());
		else if (session_report_finished(s, final) < 0)
			log_error("%s", failure());
		if (!failed && !s->ended)
			source_close(&s->all);
	}
	session_stop_mem(s);
	/* Who comes next may still have what this one has not reported. */
	if (!failed)
		session_close_running_files(s);
}

void session_pause(struct session *s)
{
	session_stop_all(s, false);
	s->paused = true;
	if (s->all.engine->leave)
		s->all.engine->leave();
}

int session_resume(struct session *s)
{
	int err;

	source_leak(&s->all); /* of a start that failed */
	session_close_running_files(s);
	s->ended = false;
	s->interval_began_ms = clock_realtime_ns() / NS_PER_MS;
	err = session_start_all(s);
	s->paused = err != 0;
	if (!err)
		session_start_mem(s);
	return err;
}

void session_end(struct session *s, uint64_t drain_by_ns)
{
	session_stop_all(s, true);
	for (size_t i = 0; i < s->with.reporter_count; i++) {
		struct reporter *reporter = s->with.reporters[i];

		if (reporter->drain)
			reporter->drain(reporter, drain_by_ns);
	}
}

void session_close(struct session *s)
{
	session_stop_thread_sampler(s);
	session_stop_mem(s);
	source_leak(&s->all);
	for (size_t i = 0; i < s->with.reporter_count; i++)
		s->with.reporters[i]->close(s->with.reporters[i]);
	free(s->texts);
}
