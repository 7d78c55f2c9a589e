/* Profiling session, from an engine's start to its stop. */
#include "core/agent/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/agent/engine_start.h"
#include "core/agent/failure.h"
#include "core/log.h"
#include "core/memory/account.h"
#include "core/agent/lost_reports.h"
#include "core/executable.h"
#include "core/agent/samples.h"
#include "core/units.h"

/* async-profiler keeps every stack since its start. Above this size it is restarted between two reports. */
#define ENGINE_MEMORY_MAX_KB (32u << 10)

#define NS_PER_MS 1000000u

/* With a spool, an engine finishes a chunk each second, and earlier in the first one. SIGKILL loses only the chunk that
 * is not finished. */
#define CHUNK_NS       1000000000u
#define FIRST_CHUNK_NS (CHUNK_NS / 8)

/* Interval of the checks of unreported bytes. */
#define SIZE_CHECK_NS 100000000u

/* Starts after a stop keep the time, because they find the same memory. */
static uint64_t session_profiled_since_ms(void)
{
	static uint64_t since_ms;
	static pid_t process;

	if (process != getpid()) {
		process = getpid();
		since_ms = clock_realtime_ns() / NS_PER_MS;
	}
	return since_ms;
}

/* Return a report with the members that all reports of the session share. HOST receives the host name. */
static struct report session_describe(const struct session *s, char host[HOST_NAME_MAX + 1])
{
	struct report report = {
		.start_ms = s->interval_began_ms,
		.end_ms = clock_realtime_ns() / NS_PER_MS,
		.interval_ms = s->config->reporting_interval_ns / NS_PER_MS,
		.pid = getpid(),
		.profiled_since_ms = session_profiled_since_ms(),
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
	gethostname(host, HOST_NAME_MAX); /* it may change */
	return report;
}

/* Make the note of the running recording, and with FILES its files in the spool. Returns 0 or -errno. */
static int session_describe_running(const struct session *s, struct running_files *files,
				    struct buf *note)
{
	char host[HOST_NAME_MAX + 1];
	struct report origin = session_describe(s, host);
	int err = -ENOENT;

	for (size_t i = 0; i < s->with.reporter_count && err; i++) {
		struct reporter *reporter = s->with.reporters[i];

		if (reporter->create_running_files)
			err = reporter->create_running_files(reporter, &origin, files, note);
	}
	return err;
}

/* Create the files of the running recording in the spool. Returns 0 or -errno. */
static int session_create_running_files(struct session *s)
{
	struct buf note = BUF_INIT(RUNNING_NOTE_MAX);
	int err;

	s->running_files = (struct running_files)RUNNING_FILES_NONE;
	err = session_describe_running(s, &s->running_files, &note);
	if (!err)
		err = running_files_write_note(&s->running_files, &note);
	s->has_running_files = !err;
	buf_free(&note);
	return err;
}

void session_update_running_files(struct session *s)
{
	struct buf note = BUF_INIT(RUNNING_NOTE_MAX);
	int err;

	if (!s->has_running_files || s->has_spool_failed)
		return;
	err = session_describe_running(s, NULL, &note);
	if (!err)
		err = running_files_replace_note(&s->running_files, &note);
	if (err)
		log_warn("cannot write the new settings to " OPTION_PREFIX
			 "SPOOL_DIR: %s; after SIGKILL the unreported data has the old ones",
			 strerror(-err));
	buf_free(&note);
}

static bool source_is_served(const struct source *source)
{
	return source->engine->service != NULL;
}

static void session_close_running_files(struct session *s)
{
	if (s->has_running_files)
		running_files_close(&s->running_files);
	s->has_running_files = false;
}

/* The spool failed: continue in memory. */
static void session_disable_spool(struct session *s, const char *why)
{
	if (!s->has_spool_failed)
		log_warn("the running recording is not stored in " OPTION_PREFIX
			 "SPOOL_DIR: %s; SIGKILL loses the unreported data",
			 why);
	s->has_spool_failed = true;
	s->chunk_due_ns = UINT64_MAX;
	if (s->has_running_files)
		running_files_unlink(&s->running_files);
}

/* Open the recording, in the spool if there is one, otherwise in memory. Data of engines with their own threads is
 * written to memory and then moved to the spool. */
static int session_open_recording(struct session *s)
{
	bool wanted = s->config->spool_dir && !s->has_spool_failed;
	int err = wanted && !s->has_running_files ? session_create_running_files(s) : 0;
	int fd = wanted && s->has_running_files ? running_files_dup_chunks(&s->running_files)
						: -ENOENT;

	s->chunk_due_ns = fd >= 0 ? clock_monotonic_ns() + s->chunk_ns : UINT64_MAX;
	if (err && err != -ENOENT)
		session_disable_spool(s, strerror(-err));
	else if (fd < 0 && fd != -ENOENT)
		session_disable_spool(s, strerror(-fd));
	if (fd >= 0 && source_is_served(&s->all))
		return recording_open_in(&s->all.recording, fd);
	err = recording_open(&s->all.recording, s->config->spool_dir);
	if (err && fd >= 0)
		close(fd);
	if (!err && fd >= 0)
		recording_move_to(s->all.recording, fd);
	return err;
}

/* Start SOURCE on its new recording with the sampling of CONFIG; MEM: with native memory. OPENED is the result of
 * opening the recording. After a failure the recording stays: the engine may have opened it. */
static int source_start(struct source *source, const struct config *config, bool mem, int opened)
{
	struct engine_start start = engine_start_of(config, mem);

	if (opened)
		return failed(opened, "cannot create a file for the recording: %s",
			      strerror(-opened));
	if (start.interval_ns == ENGINE_OFF && start.mem_bytes == ENGINE_OFF)
		return failed(
			-EINVAL,
			"nothing to sample: CPU_INTERVAL, WALL_INTERVAL and NATIVE_MEM are off");
	start.file = recording_path(source->recording);
	return source->engine->start(&start);
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

/* The same as recording_cut(). */
static int source_cut(struct source *source, struct report_part *part)
{
	int err = recording_cut(source->recording, part);

	if (err)
		failed(err, "%s wrote an invalid recording: %s", source->engine->name,
		       strerror(-err));
	return err;
}

/* Close ALL's recording after its data is reported or lost. Its files in the spool are removed, unless MEM still
 * uses them. */
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
		s->sampling = engine_start_sampling(engine_start_of(s->config, mem));
	err = source_start(&s->all, s->config, mem, session_open_recording(s));
	if (!err || err == -EBUSY || err == -ECANCELED || !s->has_running_files ||
	    !source_is_served(&s->all))
		return err;
	/* The disk has space for a file, but not for its content. */
	log_warn("%s; the recording restarts in memory", failure());
	s->has_spool_failed = true;
	session_close_all(s);
	return source_start(&s->all, s->config, mem, session_open_recording(s));
}

static int session_open_mem(struct session *s)
{
	int fd = s->has_running_files && !s->has_spool_failed
			 ? running_files_dup_memory(&s->running_files)
			 : -ENOENT;

	s->is_mem_in_spool = fd >= 0;
	return fd >= 0 ? recording_open_in(&s->mem.recording, fd)
		       : recording_open(&s->mem.recording, s->config->spool_dir);
}

/* A failure of the engine for memory must not stop the rest of profiling. */
void session_start_mem(struct session *s)
{
	struct config mem_only = *s->config;
	int err;

	if (!s->mem.engine || mem_only.native_mem_bytes == OPTION_OFF)
		return;
	mem_only.cpu_interval_ns = mem_only.wall_interval_ns = OPTION_OFF;
	mem_only.engine_options = NULL; /* the configured ones are for the other engine */
	err = source_start(&s->mem, &mem_only, true, session_open_mem(s));
	if (err && err != -ECANCELED)
		log_error("%s; native memory is not sampled in this process", failure());
	if (err)
		source_close(&s->mem);
}

void session_stop_mem(struct session *s)
{
	if (!s->mem.recording)
		return;
	if (s->mem.engine->stop()) {
		log_error("%s", failure());
		source_leak(&s->mem);
	} else {
		source_close(&s->mem);
	}
}

/* Handle a failure of the engine for memory: restart it in memory, or stop it. */
static void session_handle_mem_failure(struct session *s)
{
	bool was_in_spool = s->is_mem_in_spool;

	log_error("%s; native memory sampling %s", failure(),
		  was_in_spool ? "restarts in memory" : "ends");
	if (was_in_spool)
		session_disable_spool(s, failure());
	session_stop_mem(s);
	if (was_in_spool)
		session_start_mem(s);
}

/* Add the interval's native memory to REPORT. False when there is none. */
static bool report_add_mem(struct session *s, struct report *report)
{
	struct report_part *part = &report->parts[report->part_count];

	if (!s->mem.recording)
		return false;
	if (s->mem.engine->rotate() || source_cut(&s->mem, part)) {
		session_handle_mem_failure(s);
	} else if (part->length) {
		report->part_count++;
		return true;
	}
	return false;
}

/* Add FILE to REPORT, unless writing it failed with ERR. Returns that or a later error. */
static int report_add_file(struct report *report, struct recording *file, int err)
{
	struct report_part *part = &report->parts[report->part_count];

	if (!err)
		err = recording_cut(file, part);
	if (!err && part->length)
		report->part_count++;
	return err;
}

/* Add the crash that caused REPORT, the last one, if any. Sets *FILE, which REPORT needs, or NULL. */
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
		log_warn("the last profile lacks the crash: %s", strerror(-err));
}

/* Add the labels of REPORT's origin, in a separate file: only the engines write their files, and they may be
 * restarted between two reports. Sets *FILE, which REPORT needs, or NULL. */
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
		log_warn("a profile lacks its tags: %s", strerror(-err));
}

/* Fill in the samples lost since the last report, and those taken if the engine reports them. Store the engine's
 * memory size. */
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

/* Count the samples in the report; an engine's own counter refers to the time of its reading. */
static void report_count_samples(struct report *report)
{
	uint64_t count = 0;
	int err = 0;

	for (size_t i = 0; i < report->part_count && !err; i++)
		err = samples_count(&report->parts[i], &count);
	if (err)
		log_debug("cannot count the samples of a report: %s", strerror(-err));
	else
		report->samples_taken = count;
}

static uint64_t capture_room(const struct session *s, const struct capture *capture)
{
	uint64_t all = 0, room = memory_room(MEMORY_CAPTURE);

	for (size_t i = 0; i < s->capture_count; i++)
		all += s->captures[i].bytes;
	all = all < CAPTURES_MAX_BYTES ? CAPTURES_MAX_BYTES - all : 0;
	if (all > CAPTURE_MAX_BYTES - capture->bytes)
		all = CAPTURE_MAX_BYTES - capture->bytes;
	room = room > CAPTURE_SPARE_BYTES ? room - CAPTURE_SPARE_BYTES : 0;
	return all < room ? all : room;
}

static void session_deliver(struct session *s, const struct report *report)
{
	s->reports++;
	s->reports_ms = report->end_ms;
	for (size_t i = 0; i < s->capture_count; i++) {
		struct capture *capture = &s->captures[i];

		capture_add(capture, report, capture_room(s, capture));
		memcpy(capture->skip, capture_skips_nothing, sizeof(capture->skip));
	}
	for (size_t i = 0; i < s->with.reporter_count; i++) {
		struct reporter *reporter = s->with.reporters[i];

		/* It logs its errors; profiling continues. */
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
	int err = source->engine->rotate();

	if (!err && source->recording == s->all.recording)
		session_move_finished(s);
	return err;
}

int session_copy(struct session *s, const struct source *sources, size_t count,
		 struct capture *capture)
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
	overhead_costs(&s->overhead, &capture->costs_before, &report.costs);
	if (!err && report.part_count)
		report_add_labels(s, &report, &labels);
	if (!err)
		capture_add(capture, &report, capture_room(s, capture));
	recording_close(labels);
	return err ? err : capture->err;
}

/* Store in the spool that REPORT was passed on; its second part is native memory. After a crash before this, REPORT
 * may be delivered twice. In the other order it might be lost. */
static void session_write_cut(struct session *s, const struct report *report, bool with_mem)
{
	const struct report_part *all = &report->parts[0], *mem = &report->parts[1];

	if (s->has_running_files)
		running_files_write_cut(&s->running_files, all->offset + (off_t)all->length,
					with_mem ? mem->offset + (off_t)mem->length : 0);
}

/* Count COUNT dropped chunks; WHY is for the log, which has the first only. */
static void session_count_dropped(struct session *s, uint64_t count, const char *why)
{
	if (count && !s->dropped_chunks)
		log_error("%s%s; data since the last report is dropped, and the recording "
			  "continues",
			  why,
			  recording_has_size_limit() ? ", because of the program's file size limit "
						       "(RLIMIT_FSIZE)"
						     : "");
	s->dropped_chunks += count;
}

/* Cut the finished chunks and report them. Returns 1, or 0 when there were none, or -errno. */
static int session_report_finished(struct session *s, bool final)
{
	char host[HOST_NAME_MAX + 1];
	struct report report = session_describe(s, host);
	struct recording *crash, *labels;
	bool with_mem;
	int err;

	session_move_finished(s);
	err = source_cut(&s->all, &report.parts[0]);
	session_count_dropped(s, recording_take_dropped(s->all.recording),
			      "the engine wrote a damaged chunk");
	report.final = final;
	report.losses.dropped_refused = s->dropped_chunks;
	if (err)
		return err;
	if (!report.parts[0].length)
		return 0;
	report.part_count = 1;
	report_add_counts(s, &report);
	with_mem = report_add_mem(s, &report);
	report_add_crash(s, &report, &crash);
	report_count_samples(&report);
	overhead_costs(&s->overhead, NULL, &report.costs);
	overhead_reported(&s->overhead);
	report_add_labels(s, &report, &labels);
	session_deliver(s, &report);
	recording_close(labels);
	recording_close(crash);
	session_write_cut(s, &report, with_mem);
	if (recording_release(s->all.recording, &report.parts[0]) ||
	    (with_mem && recording_release(s->mem.recording, &report.parts[1])))
		s->cannot_free_space = true;
	if (s->with.forget_waits)
		s->with.forget_waits();
	s->interval_began_ms = report.end_ms;
	if (s->chunk_due_ns != UINT64_MAX) /* the report has finished a chunk */
		s->chunk_due_ns = clock_monotonic_ns() + s->chunk_ns;
	return 1;
}

/* Whether the engine stopped by itself; called after a failure. async-profiler stops when the Java VM begins to
 * exit, and then finishes its last chunk. The program mostly ends then; if not, the next report logs the end. */
static bool session_engine_has_ended(struct session *s)
{
	if (source_is_served(&s->all) || session_report_finished(s, true) <= 0)
		return false;
	s->state = SESSION_ENDED;
	s->is_end_logged = session_can_restart(s);
	if (s->is_end_logged)
		log_warn("%s was stopped by other code in this process; profiling ends",
			 s->all.engine->name);
	return true;
}

static void session_log_end(struct session *s)
{
	if (s->is_end_logged)
		return;
	s->is_end_logged = true;
	log_warn("%s ended with the Java VM, but the program continues; profiling ends",
		 s->all.engine->name);
}

int session_restart(struct session *s)
{
	int err = s->all.engine->stop();

	if (err)
		return session_engine_has_ended(s) ? 0 : err;
	err = session_report_finished(s, false);
	if (err < 0)
		return err;
	session_close_all(s);
	return session_start_all(s);
}

/* The disk is full or fails: continue in the program's memory. */
static int session_leave_spool(struct session *s)
{
	log_error("%s; the recording continues in memory; data since the last report is lost",
		  failure());
	s->has_spool_failed = true;
	s->all.engine->stop();
	session_report_finished(s, false); /* some of several chunks may be whole */
	session_close_all(s);
	return session_start_all(s);
}

/* If even the start of a recording does not fit, try again at the next report. */
static void session_start_within_limit(struct session *s)
{
	session_close_all(s);
	s->interval_began_ms = clock_realtime_ns() / NS_PER_MS;
	s->state = session_start_all(s) ? SESSION_WAITS : SESSION_RUNS;
	if (s->state == SESSION_RUNS)
		return;
	s->dropped_chunks++;
	log_info("%s; the next attempt is at the next report", failure());
}

/* Restart the engine with another recording, which has space under the program's file size limit. An engine that cannot
 * restart goes on in its recording. */
static int session_restart_within_limit(struct session *s)
{
	if (!session_can_restart(s))
		return 0;
	s->all.engine->stop();
	session_report_finished(s, false); /* some of several chunks may be whole */
	session_start_within_limit(s);
	return 0;
}

bool session_can_restart(const struct session *s)
{
	return !s->all.engine->can_restart || s->all.engine->can_restart();
}

/* Continue in memory, after a report: a recording in the spool would take the space of all finished reports. */
static int session_leave_growing_spool(struct session *s)
{
	int err = 0;

	session_disable_spool(s, "its file system cannot free a part of a file");
	if (source_is_served(&s->all))
		err = session_restart(s);
	else if (recording_move_to_memory(s->all.recording))
		log_warn("no memory for the finished chunks of the recording; they stay in a file");
	if (err || s->state != SESSION_RUNS)
		return err;
	if (s->mem.recording && s->is_mem_in_spool) {
		session_stop_mem(s);
		session_start_mem(s);
	}
	session_close_running_files(s);
	return 0;
}

static int session_report_interval(struct session *s)
{
	uint64_t dropped = s->dropped_chunks;
	int err;

	if (s->state == SESSION_WAITS)
		session_start_within_limit(s);
	if (s->state == SESSION_ENDED)
		session_log_end(s);
	if (s->state != SESSION_RUNS)
		return 0;
	if (s->rotates_by_restart)
		return session_restart(s);
	err = s->all.engine->rotate();
	if (err && session_engine_has_ended(s))
		return 0;
	if (err && source_is_served(&s->all) && recording_has_size_limit()) {
		session_count_dropped(s, 1, failure());
		return session_restart_within_limit(s);
	}
	if (err)
		return source_is_served(&s->all) && s->has_running_files ? session_leave_spool(s)
									 : err;
	err = session_report_finished(s, false);
	if (err < 0)
		return err;
	if (!err && s->dropped_chunks == dropped &&
	    (recording_has_size_limit() || !session_can_restart(s))) {
		if (!session_can_restart(s))
			recording_skip_chunk(s->all.recording);
		session_count_dropped(s, 1, "the engine cannot write a chunk");
	}
	if (s->dropped_chunks != dropped)
		return session_restart_within_limit(s);
	if (!err) {
		log_info("%s cannot finish a chunk while it samples; it restarts for each report",
			 s->all.engine->name);
		s->rotates_by_restart = true;
		return session_restart(s);
	}
	return s->counted.memory_kb > ENGINE_MEMORY_MAX_KB && session_can_restart(s)
		       ? session_restart(s)
		       : 0;
}

int session_report(struct session *s)
{
	int err = session_report_interval(s);

	if (err || s->state != SESSION_RUNS || !s->cannot_free_space || !s->has_running_files ||
	    s->has_spool_failed)
		return err;
	return session_leave_growing_spool(s);
}

int session_start(struct session *s)
{
	int err;

	executable_name(s->executable, sizeof(s->executable));
	s->all.engine = s->with.engine;
	s->mem.engine = s->with.mem_engine;
	s->all.engine->version(s->all.engine, s->engine_version, sizeof(s->engine_version));
	s->interval_began_ms = clock_realtime_ns() / NS_PER_MS;
	s->chunk_ns = FIRST_CHUNK_NS;
	overhead_start(&s->overhead, s->config, clock_monotonic_ns());
	err = session_start_all(s);
	if (!err)
		session_start_mem(s);
	return err;
}

static uint64_t source_service(const struct source *source, uint64_t now_ns)
{
	return source->recording && source->engine->service ? source->engine->service(now_ns)
							    : UINT64_MAX;
}

static int source_end_chunk(struct session *s, const struct source *source)
{
	if (!source->recording)
		return 0;
	return source->engine->end_chunk ? source->engine->end_chunk() : session_dump(s, source);
}

/* With a spool, finish the chunks that are due. The next report handles an error. */
static uint64_t session_end_due_chunks(struct session *s, uint64_t now_ns)
{
	if (s->state != SESSION_RUNS || s->rotates_by_restart)
		return UINT64_MAX;
	if (now_ns < s->chunk_due_ns)
		return s->chunk_due_ns;
	s->chunk_due_ns = UINT64_MAX;
	s->chunk_ns = s->chunk_ns < CHUNK_NS ? 2 * s->chunk_ns : CHUNK_NS;
	if (!source_end_chunk(s, &s->all) && !source_end_chunk(s, &s->mem) && !s->has_spool_failed)
		s->chunk_due_ns = now_ns + s->chunk_ns;
	return s->chunk_due_ns;
}

static uint64_t session_look_at_waits(struct session *s, uint64_t now_ns)
{
	uint64_t interval_ns = s->config->wall_interval_ns;

	if (!s->with.look_at_waits || s->state != SESSION_RUNS || interval_ns == OPTION_OFF)
		return UINT64_MAX;
	return s->with.look_at_waits(now_ns, interval_ns);
}

uint64_t session_service(struct session *s, uint64_t now_ns)
{
	uint64_t all = source_service(&s->all, now_ns), mem = source_service(&s->mem, now_ns),
		 chunk = session_end_due_chunks(s, now_ns),
		 waits = session_look_at_waits(s, now_ns);

	all = all < mem ? all : mem;
	chunk = chunk < waits ? chunk : waits;
	return all < chunk ? all : chunk;
}

static uint64_t source_unreported_bytes(const struct source *source)
{
	if (!source->recording)
		return 0;
	return recording_uncut_bytes(source->recording) +
	       (source->engine->chunk_bytes ? source->engine->chunk_bytes() : 0);
}

/* Return the unreported bytes in finished chunks; *PART describes them. */
static uint64_t source_finished_bytes(const struct source *source, struct report_part *part)
{
	if (!source->recording || recording_peek(source->recording, part))
		*part = (struct report_part){ .fd = -1 };
	return part->length;
}

/* Finish the chunk of SOURCE if it has more than MORE bytes. */
static int source_end_large_chunk(struct session *s, const struct source *source, uint64_t more)
{
	struct report_part part;
	uint64_t finished = source_finished_bytes(source, &part),
		 all = source_unreported_bytes(source);

	return source->recording && all > finished + more ? session_dump(s, source) : 0;
}

int session_begin_capture(struct session *s, struct capture *capture, bool finishes_chunks)
{
	const struct source *const sources[] = { &s->all, &s->mem };
	struct report_part part;
	int err = 0;

	memcpy(capture->skip, capture_skips_nothing, sizeof(capture->skip));
	overhead_measure(&s->overhead, clock_monotonic_ns());
	capture->costs_before = s->overhead.total;
	for (size_t i = 0; i < 2 && !err && !s->rotates_by_restart; i++) {
		/* The finished chunk is in the next report, with later ones. */
		err = finishes_chunks && !i
			      ? session_dump(s, sources[i])
			      : source_end_large_chunk(s, sources[i], CAPTURE_CHUNK_BYTES / 4);
		capture->skip[i].bytes = source_finished_bytes(sources[i], &part);
		capture->skip[i].fd = part.fd;
	}
	return err;
}

void session_forget_captures(struct session *s)
{
	s->capture_count = 0;
}

/* Complete each capture that the unreported data fills up: its client need not wait any longer. */
static void session_check_captures(struct session *s)
{
	const struct source both[] = { s->all, s->mem };
	uint64_t bytes = source_unreported_bytes(&s->all) + source_unreported_bytes(&s->mem);
	int err = source_end_large_chunk(s, &s->all, CAPTURE_CHUNK_BYTES);

	err = err ? err : source_end_large_chunk(s, &s->mem, CAPTURE_CHUNK_BYTES);
	for (size_t i = 0; i < s->capture_count; i++) {
		struct capture *capture = &s->captures[i];
		uint64_t skipped = capture->skip[0].bytes + capture->skip[1].bytes;

		if (!err && bytes < skipped + capture_room(s, capture))
			continue;
		if (!atomic_load(capture->full) && !capture->err)
			capture->err = err ? err : session_copy(s, both, 2, capture);
		atomic_store(capture->full, true);
	}
}

/* Half of the space where reports wait, so that one waits while the next is recorded. */
static uint64_t session_unreported_max(const struct session *s)
{
	const struct config *c = s->config;
	uint64_t room = s->has_running_files && !s->has_spool_failed ? c->spool_max_bytes
								     : config_memory_max_bytes(c);

	/* REPORTING_INTERVAL=off: there is only one report. */
	return room == OPTION_OFF || c->reporting_interval_ns > HOURS(24) ? UINT64_MAX : room / 2;
}

bool session_check_size(struct session *s, uint64_t now_ns)
{
	if (now_ns < s->size_check_ns || s->state != SESSION_RUNS)
		return false;
	s->size_check_ns = now_ns + SIZE_CHECK_NS;
	if (s->capture_count && !s->rotates_by_restart)
		session_check_captures(s);
	return source_unreported_bytes(&s->all) + source_unreported_bytes(&s->mem) >=
	       session_unreported_max(s);
}

/* Report the last samples, after the engine has stopped. */
static void session_report_last(struct session *s, bool final)
{
	int count = session_report_finished(s, final);

	if (count < 0)
		log_error("%s", failure());
	else if (!count && !s->dropped_chunks && recording_has_size_limit())
		log_error("the last profile is lost, because of the program's file size limit "
			  "(RLIMIT_FSIZE)");
}

/* Stop the engines, and report the last samples. */
static void session_stop_all(struct session *s, bool final)
{
	bool failed = false;

	session_stop_thread_sampler(s);
	if (s->state == SESSION_RUNS) {
		failed = s->all.engine->stop() != 0;
		if (failed && session_engine_has_ended(s))
			failed = false;
		else if (failed)
			log_error("%s; the last profile is lost", failure());
		else
			session_report_last(s, final);
		if (!failed && s->state == SESSION_RUNS)
			source_close(&s->all);
	}
	session_stop_mem(s);
	/* After a failure a later process may recover the unreported data. */
	if (!failed)
		session_close_running_files(s);
}

void session_pause(struct session *s)
{
	session_stop_all(s, false);
	s->state = SESSION_PAUSED;
	if (s->all.engine->leave)
		s->all.engine->leave();
}

int session_resume(struct session *s)
{
	int err;

	source_leak(&s->all); /* from a failed start */
	session_close_running_files(s);
	s->interval_began_ms = clock_realtime_ns() / NS_PER_MS;
	err = session_start_all(s);
	s->state = err ? SESSION_PAUSED : SESSION_RUNS;
	overhead_resume(&s->overhead, clock_monotonic_ns());
	if (!err)
		session_start_mem(s);
	return err;
}

void session_end(struct session *s, uint64_t drain_by_ns)
{
	session_stop_all(s, true);
	lost_reports_set_recording(false);
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
