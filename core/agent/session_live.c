/* Answers of a session to the live endpoint. */
#include "core/agent/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent_phase.h"
#include "core/agent/failure.h"
#include "core/agent/intervals.h"
#include "core/agent/live.h"
#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/options/config_set.h"
#include "core/options/option_table.h"
#include "core/shared.h"
#include "core/units.h"

/* Options that can be changed while the program runs, and whether the engines must be restarted. */
static const struct {
	const char *name;
	bool engines;
} changeable_options[] = {
	{ "REPORTING_INTERVAL", false }, { "CPU_INTERVAL", true }, { "WALL_INTERVAL", true },
	{ "NATIVE_MEM", true },          { "BUDGET", false },      { "STALLS", false },
	{ "PROFILING_GROUP", false },    { "TAGS", false },        { "LOG", false },
};

#define CHANGEABLE_COUNT (sizeof(changeable_options) / sizeof(changeable_options[0]))

static int call_refuse(struct live_call *call, int err, const char *words)
{
	format_text(call->problem, sizeof(call->problem), "%s", words);
	return err;
}

static void status_add_settings(const struct config *c, struct live_status *status)
{
	status->reporting_interval_ns = c->reporting_interval_ns;
	status->cpu_interval_ns = c->cpu_interval_ns;
	status->wall_interval_ns = c->wall_interval_ns;
	status->native_mem_bytes = c->native_mem_bytes;
	status->stalls_ns = c->stalls_ns;
	status->log = shared->log.level;
	format_text(status->group, sizeof(status->group), "%s",
		    c->profiling_group ? c->profiling_group : "");
	format_text(status->tags, sizeof(status->tags), "%s", c->tags ? c->tags : "");
}

/* Only the builtin engine tracks live memory. */
static bool session_has_live_memory(const struct session *s)
{
	return s->state != SESSION_PAUSED && s->config->native_mem_bytes != OPTION_OFF &&
	       (s->mem.engine ? s->mem.recording != NULL : s->all.engine->service != NULL);
}

static void status_fill(struct session *s, struct live_status *status)
{
	struct engine_counts counts = { 0 };

	memset(status, 0, sizeof(*status));
	status->running = s->state == SESSION_RUNS;
	format_text(status->executable, sizeof(status->executable), "%s", s->executable);
	format_text(status->engine, sizeof(status->engine), "%s", s->all.engine->name);
	format_text(status->engine_version, sizeof(status->engine_version), "%s",
		    s->engine_version);
	status->since_ms = s->began_ms;
	/* Counts from before a pause stay. */
	counts = s->counted;
	if (status->running)
		s->all.engine->counts(s->all.engine, &counts);
	status->samples = counts.taken;
	status->lost = counts.lost;
	status->kinds = counts.losses;
	status->reports = s->reports;
	status->reports_ms = s->reports_ms;
	format_text(status->error, sizeof(status->error), "%s", s->error);
	status->memory = session_has_live_memory(s);
	status_add_settings(s->config, status);
	status->costs = s->overhead.total;
	overhead_recent(&s->overhead, &status->recent_costs);
	for (size_t i = 0; i < s->with.reporter_count; i++)
		if (s->with.reporters[i]->add_status)
			s->with.reporters[i]->add_status(s->with.reporters[i], status);
	status->losses.dropped_refused += s->dropped_chunks;
}

/* ---- Options ---- */

static const struct option *changeable_find(const char *name, bool *engines)
{
	for (size_t i = 0; i < CHANGEABLE_COUNT; i++)
		if (!strcmp(changeable_options[i].name, name)) {
			*engines = *engines || changeable_options[i].engines;
			return option_lookup(name);
		}
	return NULL;
}

static int call_refuse_name(struct live_call *call, const char *name)
{
	size_t length;

	length = format_text(call->problem, sizeof(call->problem),
			     option_lookup(name)
				     ? "%s cannot be set while the program runs; these can:"
				     : "there is no option %s; these can be set:",
			     name);
	for (size_t i = 0; i < CHANGEABLE_COUNT; i++)
		length += format_text(call->problem + length, sizeof(call->problem) - length,
				      "%s %s", i ? "," : "", changeable_options[i].name);
	return -EINVAL;
}

/* Read CALL's options into *INTO, a copy of FROM. Strings are copied to TEXTS. */
static int call_read_options(struct live_call *call, const struct config *from, struct config *into,
			     char **texts, bool *engines)
{
	size_t size = 1;
	char *p;

	*into = *from;
	for (size_t i = 0; i < call->option_count; i++)
		size += strlen(call->options[i].value) + 1;
	if (from->profiling_group)
		size += strlen(from->profiling_group) + 1;
	if (from->tags)
		size += strlen(from->tags) + 1;
	*texts = p = malloc(size);
	if (!p)
		return call_refuse(call, -ENOMEM, "out of memory");
	/* Strings of an earlier change are in a block that is about to be freed. */
	if (from->profiling_group)
		into->profiling_group = p, p = stpcpy(p, from->profiling_group) + 1;
	if (from->tags)
		into->tags = p, p = stpcpy(p, from->tags) + 1;
	for (size_t i = 0; i < call->option_count; i++) {
		const struct live_option *wanted = &call->options[i];
		const struct option *option = changeable_find(wanted->name, engines);
		char *value = p;

		if (!option)
			return call_refuse_name(call, wanted->name);
		p = stpcpy(p, wanted->value) + 1;
		if (!*value || config_set(into, option, value)) {
			char problem[OPTION_PROBLEM_MAX];

			option_complain(option, value, problem);
			return call_refuse(call, -EINVAL, problem);
		}
	}
	if (into->cpu_interval_ns == OPTION_OFF && into->wall_interval_ns == OPTION_OFF &&
	    into->native_mem_bytes == OPTION_OFF)
		return call_refuse(
			call, -EINVAL,
			"nothing to sample: CPU_INTERVAL, WALL_INTERVAL and NATIVE_MEM would "
			"be off");
	return 0;
}

/* The combination of async-profiler and the builtin sampler is set up at the start, because it decides which one
 * wraps malloc. */
static bool session_lacks_mem_sampler(const struct session *s, const struct config *wanted)
{
	return wanted->native_mem_bytes != OPTION_OFF &&
	       wanted->native_mem_engine == MEM_ENGINE_BUILTIN && !s->mem.engine &&
	       !s->all.engine->service;
}

static int call_refuse_memory(struct live_call *call)
{
	return call_refuse(call, -EINVAL,
			   "NATIVE_MEM cannot be turned on while async-profiler runs with "
			   "NATIVE_MEM_ENGINE=builtin; set it in the environment");
}

/* Refuse the restart, which would break the program. */
static int call_refuse_restart(struct live_call *call)
{
	return call_refuse(call, -EINVAL,
			   "async-profiler cannot restart in a process with a Java VM, so it "
			   "cannot be stopped or get other intervals");
}

/* Apply the new settings in s->own. After a failure the session goes on with the intervals of BEFORE. */
static int call_apply_settings(struct session *s, struct live_call *call,
			       const struct config *before)
{
	int err = intervals_apply(s, NULL, true);

	if (!err)
		return 0;
	call_refuse(call, -EIO, failure());
	s->own.cpu_interval_ns = before->cpu_interval_ns;
	s->own.wall_interval_ns = before->wall_interval_ns;
	s->own.native_mem_bytes = before->native_mem_bytes;
	intervals_update(s, NULL);
	session_resume(s);
	return -EIO;
}

static int call_set_options(struct session *s, struct live_call *call)
{
	struct config before = *s->settings, wanted;
	char *texts, *old_texts = s->texts;
	bool engines = false;
	int err = call_read_options(call, &before, &wanted, &texts, &engines);

	if (!err && session_lacks_mem_sampler(s, &wanted))
		err = call_refuse_memory(call);
	if (!err && engines && s->state != SESSION_PAUSED && !session_can_restart(s))
		err = call_refuse_restart(call);
	if (!err)
		/* The data until now belongs to the old settings. */
		err = session_report(s);
	if (err) {
		free(texts);
		return err;
	}
	s->own = wanted;
	s->settings = &s->own;
	err = call_apply_settings(s, call, &before);
	session_update_running_files(s);
	if (s->own.log != before.log)
		shared->log.level = (int)s->own.log;
	s->texts = texts;
	free(old_texts);
	return err;
}

/* ---- Recordings ---- */

/* Sample at the INTERVALS that CALL asks for. An engine that cannot restart keeps its own; the problem is then the
 * reason. */
static int call_apply_intervals(struct session *s, struct live_call *call,
				struct capture_intervals *intervals)
{
	struct config wanted = *s->config;
	int err;

	*intervals = capture_intervals_none;
	if (!call->option_count)
		return 0;
	err = intervals_read(intervals, call);
	wanted.native_mem_bytes = intervals->mem_bytes;
	if (!err && session_lacks_mem_sampler(s, &wanted))
		err = call_refuse_memory(call);
	if (err)
		return err;
	intervals->until_ns = call->until_ns;
	err = intervals_apply(s, intervals, false);
	if (!err)
		return 0;
	*intervals = capture_intervals_none;
	if (err == -EPERM) {
		call_refuse_restart(call);
		return 0;
	}
	call_refuse(call, -EIO, failure());
	intervals_update(s, NULL);
	session_resume(s);
	return -EIO;
}

static int call_begin_capture(struct session *s, struct live_call *call)
{
	struct capture_intervals intervals;
	int err;

	if (s->state != SESSION_RUNS)
		return -ESRCH;
	if (s->capture_count == LIVE_CAPTURES_MAX)
		return -EBUSY;
	err = call_apply_intervals(s, call, &intervals);
	if (err)
		return err;
	s->captures[s->capture_count] =
		(struct capture){ .fd = call->fd, .full = call->full, .intervals = intervals };
	/* If this fails, the next report fails too and logs it. */
	session_begin_capture(s, &s->captures[s->capture_count++], call->finishes_chunks);
	return 0;
}

/* True when the capture to FD holds only the thread sampler's data: the engine's own samples are of some threads and
 * of other times. */
static bool capture_is_thread_sampler(const struct session *s, int fd)
{
	return s->thread_sampler.recording && s->thread_sampler_fd == fd;
}

static int call_end_capture(struct session *s, int fd, bool wanted)
{
	int err = -ESRCH;
	size_t i = 0;

	while (i < s->capture_count && s->captures[i].fd != fd)
		i++;
	if (i == s->capture_count)
		return err;
	err = s->captures[i].err;
	if (capture_is_thread_sampler(s, fd)) {
		if (wanted && !err)
			err = session_copy(s, &s->thread_sampler, 1, &s->captures[i]);
		session_stop_thread_sampler(s);
		wanted = false;
	}
	/* A session that was paused meanwhile has reported everything. */
	if (wanted && !err && s->state == SESSION_RUNS && !atomic_load(s->captures[i].full)) {
		const struct source both[] = { s->all, s->mem };

		err = s->rotates_by_restart ? session_report(s)
					    : session_copy(s, both, 2, &s->captures[i]);
		err = err ? err : s->captures[i].err;
	}
	s->captures[i] = s->captures[--s->capture_count];
	intervals_restore(s);
	return err;
}

/* ---- Pause and resume ---- */

static int call_stop(struct session *s, struct live_call *call)
{
	if (s->state != SESSION_RUNS)
		return -EALREADY;
	if (!session_can_restart(s))
		return call_refuse_restart(call);
	log_info("stopped at the live endpoint");
	session_pause(s);
	return 0;
}

static int call_start(struct session *s, struct live_call *call)
{
	int err;

	if (s->state != SESSION_PAUSED)
		return -EALREADY;
	err = session_resume(s);
	if (err)
		return call_refuse(call, err, failure());
	log_info("started at the live endpoint");
	return 0;
}

/* ---- Sampling of all threads by another engine ---- */

/* An interval at which the engine takes no sample by itself. */
#define THREAD_SAMPLER_INTERVAL_NS SECONDS(3600)

static int thread_sampler_start(struct session *s, int fd)
{
	struct engine_start start = { .interval_ns = THREAD_SAMPLER_INTERVAL_NS,
				      .wall_ns = ENGINE_OFF,
				      .mem_bytes = ENGINE_OFF,
				      .cstack = "dwarf" };
	int err;

	if (!s->with.thread_sampler)
		return -ENOTSUP;
	if (s->thread_sampler.recording)
		return -EBUSY;
	s->thread_sampler.engine = s->with.thread_sampler;
	s->thread_sampler_fd = fd;
	err = recording_open(&s->thread_sampler.recording, NULL);
	if (!err) {
		start.file = recording_path(s->thread_sampler.recording);
		err = s->thread_sampler.engine->start(&start);
	}
	if (err) {
		recording_close(s->thread_sampler.recording);
		s->thread_sampler.recording = NULL;
	}
	return err;
}

void session_stop_thread_sampler(struct session *s)
{
	if (!s->thread_sampler.recording)
		return;
	s->thread_sampler.engine->stop();
	recording_close(s->thread_sampler.recording);
	s->thread_sampler.recording = NULL;
	s->thread_sampler.engine->leave();
}

static int thread_sampler_run(struct session *s, int fd, bool begin)
{
	int err = begin                              ? thread_sampler_start(s, fd)
		  : capture_is_thread_sampler(s, fd) ? 0
						     : -ESRCH;

	if (err)
		return err;
	return s->thread_sampler.engine->sample_threads(begin) ? -EINPROGRESS : 0;
}

static int call_sample_threads(struct session *s, int fd, bool begin)
{
	if (s->state == SESSION_PAUSED)
		return -ESRCH;
	if (!s->all.engine->sample_threads)
		return thread_sampler_run(s, fd, begin);
	return s->all.engine->sample_threads(begin) ? -EINPROGRESS : 0;
}

/* As a program does that ends its profiler and continues (core/agent.h, agent_leave). */
static int call_detach(const struct session *s, struct live_call *call)
{
	if (!shared->is_attached)
		return call_refuse(
			call, -EINVAL,
			"the program was started with the agent, which cannot be removed; "
			"asprof-agent stop PID pauses it");
	atomic_store(&shared->agent.is_leaving, true);
	atomic_store(&shared->agent.stop_by_ns, clock_monotonic_ns() + s->config->exit_timeout_ns);
	atomic_fetch_or(&shared->agent.state, AGENT_STOP);
	return 0;
}

static int call_answer(struct session *s, struct live_call *call, bool *broken)
{
	int err;

	switch (call->request) {
	case LIVE_STATUS:
		status_fill(s, &call->status);
		return 0;
	case LIVE_STOP:
		return call_stop(s, call);
	case LIVE_START:
		return call_start(s, call);
	case LIVE_DETACH:
		return call_detach(s, call);
	case LIVE_FLUSH:
		if (s->state == SESSION_PAUSED)
			return -ESRCH;
		err = session_report(s);
		*broken = err != 0;
		return err;
	case LIVE_OPTIONS:
		return call_set_options(s, call);
	case LIVE_BEGIN:
		return call_begin_capture(s, call);
	case LIVE_END:
		return call_end_capture(s, call->fd, true);
	case LIVE_CANCEL:
		return call_end_capture(s, call->fd, false);
	case LIVE_THREADS:
		return call_sample_threads(s, call->fd, true);
	case LIVE_THREADS_LEFT:
		return call_sample_threads(s, call->fd, false);
	}
	return -EINVAL;
}

/* True for an error of the client, which is not one of the session. */
static bool call_is_refused(int err)
{
	return err == -EINPROGRESS || err == -EINVAL || err == -EALREADY || err == -ESRCH ||
	       err == -EBUSY || err == -ENOTSUP;
}

int session_answer(struct session *s, struct live_call *call)
{
	bool broken = false;

	call->problem[0] = '\0';
	call->err = call_answer(s, call, &broken);
	if (call->err && !call_is_refused(call->err))
		format_text(s->error, sizeof(s->error), "%s",
			    *call->problem ? call->problem : strerror(-call->err));
	return broken ? call->err : 0;
}
