/* What a session answers a live endpoint. */
#include "core/agent/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent/engine_command.h"
#include "core/agent/failure.h"
#include "core/agent/live.h"
#include "core/buf.h"
#include "core/format.h"
#include "core/log.h"
#include "core/options/config_set.h"
#include "core/options/option_table.h"
#include "core/shared.h"

/* What may be set while the program runs, and whether the engines are to be started anew for it. */
static const struct {
	const char *name;
	bool engines;
} changeable[] = {
	{ "REPORTING_INTERVAL", false },
	{ "CPU_INTERVAL", true },
	{ "WALL_INTERVAL", true },
	{ "NATIVE_MEM", true },
	{ "STALLS", false },
	{ "PROFILING_GROUP", false },
	{ "TAGS", false },
	{ "LOG", false },
};

#define CHANGEABLE (sizeof(changeable) / sizeof(changeable[0]))

static int refuse(struct live_call *call, int err, const char *words)
{
	format_text(call->problem, sizeof(call->problem), "%s", words);
	return err;
}

static void tell_settings(const struct config *c, struct live_status *status)
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

/* The table of what lives is the builtin engine's. */
static bool knows_memory(const struct session *s)
{
	return !s->paused && s->config->native_mem_bytes != OPTION_OFF &&
	       (s->mem.engine ? s->mem.recording != NULL : s->all.engine->service != NULL);
}

static void tell_status(struct session *s, struct live_status *status)
{
	struct engine_counts counts = { 0 };

	memset(status, 0, sizeof(*status));
	status->running = !s->paused && !s->ended;
	format_text(status->executable, sizeof(status->executable), "%s", s->executable);
	format_text(status->engine, sizeof(status->engine), "%s", s->all.engine->name);
	format_text(status->engine_version, sizeof(status->engine_version), "%s",
		    s->engine_version);
	status->since_ms = s->began_ms;
	/* What a pause has ended stays. */
	counts = s->counted;
	if (status->running)
		s->all.engine->counts(s->all.engine, &counts);
	status->samples = counts.taken;
	status->lost = counts.lost;
	status->kinds = counts.losses;
	status->reports = s->reports;
	status->reports_ms = s->reports_ms;
	format_text(status->error, sizeof(status->error), "%s", s->error);
	status->memory = knows_memory(s);
	tell_settings(s->config, status);
	for (size_t i = 0; i < s->with.reporter_count; i++)
		if (s->with.reporters[i]->tell)
			s->with.reporters[i]->tell(s->with.reporters[i], status);
}

/* ---- Options ---- */

static const struct option *find(const char *name, bool *engines)
{
	for (size_t i = 0; i < CHANGEABLE; i++)
		if (!strcmp(changeable[i].name, name)) {
			*engines = *engines || changeable[i].engines;
			return option_lookup(name);
		}
	return NULL;
}

static int refuse_name(struct live_call *call, const char *name)
{
	size_t length;

	length = format_text(call->problem, sizeof(call->problem),
			     option_lookup(name) ? "%s cannot be set while the program runs; "
						   "what can is"
						 : "there is no option %s; what can be set is",
			     name);
	for (size_t i = 0; i < CHANGEABLE; i++)
		length += format_text(call->problem + length, sizeof(call->problem) - length,
				      "%s %s", i ? "," : "", changeable[i].name);
	return -EINVAL;
}

/* CALL's options over those of FROM, in *INTO; texts are copied to TEXTS. */
static int read_options(struct live_call *call, const struct config *from, struct config *into,
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
		return refuse(call, -ENOMEM, "out of memory");
	/* Those of an earlier change are in a block that is about to go. */
	if (from->profiling_group)
		into->profiling_group = p, p = stpcpy(p, from->profiling_group) + 1;
	if (from->tags)
		into->tags = p, p = stpcpy(p, from->tags) + 1;
	for (size_t i = 0; i < call->option_count; i++) {
		const struct live_option *wanted = &call->options[i];
		const struct option *option = find(wanted->name, engines);
		char *value = p;

		if (!option)
			return refuse_name(call, wanted->name);
		p = stpcpy(p, wanted->value) + 1;
		if (!*value || config_set(into, option, value)) {
			char problem[OPTION_PROBLEM_MAX];

			option_complain(option, value, problem);
			return refuse(call, -EINVAL, problem);
		}
	}
	if (into->cpu_interval_ns == OPTION_OFF && into->wall_interval_ns == OPTION_OFF &&
	    into->native_mem_bytes == OPTION_OFF)
		return refuse(call, -EINVAL,
			      "nothing to sample: CPU_INTERVAL, WALL_INTERVAL and NATIVE_MEM would "
			      "be off");
	return 0;
}

/* async-profiler beside our sampler is arranged at the start, by who is to see malloc. */
static bool lacks_sampler(const struct session *s, const struct config *wanted)
{
	return wanted->native_mem_bytes != OPTION_OFF &&
	       wanted->native_mem_engine == MEM_ENGINE_BUILTIN && !s->mem.engine &&
	       !s->all.engine->service;
}

/* Rather than the program. */
static int refuse_restart(struct live_call *call)
{
	return refuse(call, -EINVAL,
		      "async-profiler cannot be started a second time in a process with a Java "
		      "machine, so it is neither stopped nor given other intervals");
}

static int set_options(struct session *s, struct live_call *call)
{
	struct config before = *s->config, wanted;
	char *texts, *old_texts = s->texts;
	bool engines = false;
	int err = read_options(call, s->config, &wanted, &texts, &engines);

	if (!err && lacks_sampler(s, &wanted))
		err = refuse(call, -EINVAL,
			     "NATIVE_MEM cannot be turned on beside async-profiler with "
			     "NATIVE_MEM_ENGINE=builtin; set it in the environment");
	if (!err && engines && !s->paused && !session_can_restart(s))
		err = refuse_restart(call);
	if (!err)
		/* What is recorded until now is of the settings until now. */
		err = session_report(s);
	if (err) {
		free(texts);
		return err;
	}
	s->own = wanted;
	s->config = &s->own;
	if (engines && !s->paused) {
		session_stop_mem(s); /* first, so that what is kept in a spool is begun anew, too */
		err = session_restart(s);
		if (err) {
			refuse(call, -EIO, failure());
			s->own.cpu_interval_ns = before.cpu_interval_ns;
			s->own.wall_interval_ns = before.wall_interval_ns;
			s->own.native_mem_bytes = before.native_mem_bytes;
			session_resume(s);
			err = -EIO;
		} else {
			session_start_mem(s);
		}
	}
	if (s->own.log != before.log)
		shared->log.level = (int)s->own.log;
	s->texts = texts;
	free(old_texts);
	return err;
}

/* ---- Recordings ---- */

static int begin_capture(struct session *s, const struct live_call *call)
{
	if (s->paused || s->ended)
		return -ESRCH;
	if (s->capture_count == LIVE_CAPTURES_MAX)
		return -EBUSY;
	s->captures[s->capture_count++] = (struct capture){ .fd = call->fd };
	/* A chunk ends, and is in the next report with those that follow. */
	if (call->anew && !s->rotates_by_restart)
		session_dump(s, &s->all);
	return 0;
}

/* What is copied of it is the look alone: the engine's own samples are of some threads, and not now. */
static bool is_of_look(const struct session *s, int fd)
{
	return s->look.recording && s->look_fd == fd;
}

static int end_capture(struct session *s, int fd, bool wanted)
{
	int err = -ESRCH;
	size_t i = 0;

	while (i < s->capture_count && s->captures[i].fd != fd)
		i++;
	if (i == s->capture_count)
		return err;
	err = s->captures[i].err;
	if (is_of_look(s, fd)) {
		if (wanted && !err)
			err = session_copy(s, &s->look, 1, fd);
		session_end_look(s);
		wanted = false;
	}
	/* A session that was paused meanwhile has reported all that there is. */
	if (wanted && !err && !s->paused && !s->ended) {
		const struct source both[] = { s->all, s->mem };

		err = s->rotates_by_restart ? session_report(s) : session_copy(s, both, 2, fd);
		err = err ? err : s->captures[i].err;
	}
	s->captures[i] = s->captures[--s->capture_count];
	return err;
}

/* ---- All of it ---- */

static int stop(struct session *s, struct live_call *call)
{
	if (s->paused || s->ended)
		return -EALREADY;
	if (!session_can_restart(s))
		return refuse_restart(call);
	log_info("stopped at the live endpoint");
	session_pause(s);
	return 0;
}

static int start(struct session *s, struct live_call *call)
{
	int err;

	if (!s->paused)
		return -EALREADY;
	err = session_resume(s);
	if (err)
		return refuse(call, err, failure());
	log_info("started at the live endpoint");
	return 0;
}

/* ---- A look at the threads by an engine beside ---- */

/* It takes no sample by itself. */
#define LOOK "start,event=wall,interval=3600s,jfr,file="

static int begin_look(struct session *s, int fd)
{
	struct buf command = BUF_INIT(256);
	int err;

	if (!s->with.look_engine)
		return -ENOTSUP;
	if (s->look.recording)
		return -EBUSY;
	s->look.engine = s->with.look_engine;
	s->look_fd = fd;
	err = recording_open(&s->look.recording, NULL);
	if (!err)
		err = buf_printf(&command, LOOK "%s", recording_path(s->look.recording));
	if (!err)
		err = engine_command(s->look.engine, buf_string(&command));
	buf_free(&command);
	if (err) {
		recording_close(s->look.recording);
		s->look.recording = NULL;
	}
	return err;
}

void session_end_look(struct session *s)
{
	if (!s->look.recording)
		return;
	engine_command(s->look.engine, "stop");
	recording_close(s->look.recording);
	s->look.recording = NULL;
	s->look.engine->leave();
}

static int look(struct session *s, int fd, bool begin)
{
	int err = begin ? begin_look(s, fd) : is_of_look(s, fd) ? 0 : -ESRCH;

	if (err)
		return err;
	return s->look.engine->sample_threads(begin) ? -EINPROGRESS : 0;
}

static int threads(struct session *s, int fd, bool begin)
{
	if (s->paused)
		return -ESRCH;
	if (!s->all.engine->sample_threads)
		return look(s, fd, begin);
	return s->all.engine->sample_threads(begin) ? -EINPROGRESS : 0;
}

static int answer(struct session *s, struct live_call *call, bool *broken)
{
	int err;

	switch (call->question) {
	case LIVE_STATUS:
		tell_status(s, &call->status);
		return 0;
	case LIVE_STOP:
		return stop(s, call);
	case LIVE_START:
		return start(s, call);
	case LIVE_FLUSH:
		if (s->paused)
			return -ESRCH;
		err = session_report(s);
		*broken = err != 0;
		return err;
	case LIVE_OPTIONS:
		return set_options(s, call);
	case LIVE_BEGIN:
		return begin_capture(s, call);
	case LIVE_END:
		return end_capture(s, call->fd, true);
	case LIVE_CANCEL:
		return end_capture(s, call->fd, false);
	case LIVE_THREADS:
		return threads(s, call->fd, true);
	case LIVE_THREADS_LEFT:
		return threads(s, call->fd, false);
	}
	return -EINVAL;
}

int session_answer(struct session *s, struct live_call *call)
{
	bool broken = false;

	call->problem[0] = '\0';
	call->err = answer(s, call, &broken);
	if (call->err && call->err != -EINPROGRESS)
		format_text(s->error, sizeof(s->error), "%s",
			    *call->problem ? call->problem : strerror(-call->err));
	return broken ? call->err : 0;
}
