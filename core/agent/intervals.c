/* Sampling intervals of a session: those of its settings, or shorter ones of a capture. */
#include "core/agent/intervals.h"

#include <errno.h>
#include <string.h>

#include "core/agent/engine_start.h"
#include "core/agent/failure.h"
#include "core/format.h"
#include "core/log.h"
#include "core/options/config_set.h"
#include "core/options/option_table.h"
#include "core/units.h"

static int refuse(struct live_call *call, const char *words)
{
	format_text(call->problem, sizeof(call->problem), "%s", words);
	return -EINVAL;
}

int intervals_read(struct capture_intervals *intervals, struct live_call *call)
{
	static const char *const names[] = { "CPU_INTERVAL", "WALL_INTERVAL", "NATIVE_MEM" };
	struct config wanted = { .cpu_interval_ns = OPTION_OFF,
				 .wall_interval_ns = OPTION_OFF,
				 .native_mem_bytes = OPTION_OFF };
	char problem[OPTION_PROBLEM_MAX];

	for (size_t i = 0; i < call->option_count; i++) {
		const struct live_option *given = &call->options[i];
		size_t name = 0;

		while (name < 3 && strcmp(names[name], given->name) != 0)
			name++;
		if (name == 3)
			return refuse(call, "a profile can have CPU_INTERVAL, WALL_INTERVAL and "
					    "NATIVE_MEM only");
		if (!*given->value ||
		    config_set(&wanted, option_lookup(given->name), given->value)) {
			option_complain(option_lookup(given->name), given->value, problem);
			return refuse(call, problem);
		}
	}
	*intervals = (struct capture_intervals){ .cpu_ns = wanted.cpu_interval_ns,
						 .wall_ns = wanted.wall_interval_ns,
						 .mem_bytes = wanted.native_mem_bytes };
	return 0;
}

static void shorten(uint64_t *interval, uint64_t other)
{
	if (other < *interval)
		*interval = other;
}

/* A change of NATIVE_MEM would drop the table of live allocations, so it is turned on only. */
static void add_intervals(struct config *config, const struct capture_intervals *intervals,
			  bool has_memory)
{
	shorten(&config->cpu_interval_ns, intervals->cpu_ns);
	shorten(&config->wall_interval_ns, intervals->wall_ns);
	if (!has_memory)
		shorten(&config->native_mem_bytes, intervals->mem_bytes);
}

/* True if ENGINE_OPTIONS set an interval: then the engine ignores the others. */
static bool options_set_intervals(const struct config *config)
{
	struct engine_start start = { .interval_ns = 1, .wall_ns = 1, .mem_bytes = 1 };

	for (const char *option = config->engine_options; option;
	     option = engine_option_next(option))
		(void)engine_start_set(&start, option);
	return start.interval_ns != 1 || start.wall_ns != 1 || start.mem_bytes != 1;
}

void intervals_update(struct session *s, const struct capture_intervals *more)
{
	bool has_memory = s->settings->native_mem_bytes != OPTION_OFF;

	s->applied = *s->settings;
	s->config = &s->applied;
	for (size_t i = 0; i < s->capture_count; i++)
		add_intervals(&s->applied, &s->captures[i].intervals, has_memory);
	if (more)
		add_intervals(&s->applied, more, has_memory);
	if (!options_set_intervals(&s->applied))
		overhead_limit(&s->overhead, &s->applied);
}

static bool intervals_differ(const struct config *a, const struct config *b)
{
	return a->cpu_interval_ns != b->cpu_interval_ns ||
	       a->wall_interval_ns != b->wall_interval_ns ||
	       a->native_mem_bytes != b->native_mem_bytes;
}

/* Restart with s->config. The engine for memory goes on, unless its own setting or its file in the spool changes. */
static int restart(struct session *s, bool memory_changes, bool is_reported)
{
	int err;

	if (memory_changes || s->has_running_files) {
		err = is_reported || !s->mem.recording ? 0 : session_report(s);
		if (err || s->state != SESSION_RUNS)
			return err;
		session_stop_mem(s);
	}
	err = session_restart(s);
	if (!err && !s->mem.recording)
		session_start_mem(s);
	return err;
}

/* Returns -ENOTSUP if that needs a restart. The data until now belongs to the old intervals. */
static int change_in_place(struct session *s, bool is_reported)
{
	struct engine_start start = engine_start_of(s->config, !s->with.mem_engine);
	int err;

	if (!s->all.engine->change_intervals)
		return -ENOTSUP;
	err = is_reported ? 0 : session_report(s);
	return err ? err : s->all.engine->change_intervals(&start);
}

/* Go back to the intervals of BEFORE. */
static void applied_restore(struct session *s, const struct config *before)
{
	s->applied.cpu_interval_ns = before->cpu_interval_ns;
	s->applied.wall_interval_ns = before->wall_interval_ns;
	s->applied.native_mem_bytes = before->native_mem_bytes;
}

int intervals_apply(struct session *s, const struct capture_intervals *more, bool is_reported)
{
	const struct config before = *s->config;
	bool memory_changes;

	intervals_update(s, more);
	if (!intervals_differ(&before, s->config) || s->state != SESSION_RUNS)
		return 0;
	memory_changes = before.native_mem_bytes != s->config->native_mem_bytes;
	if (!memory_changes && !change_in_place(s, is_reported))
		return 0;
	if (session_can_restart(s))
		return restart(s, memory_changes, is_reported);
	applied_restore(s, &before);
	return -EPERM;
}

/* An engine that must be restarted for other intervals gets them at most this often. */
#define RESTART_NS SECONDS(60)

/* Make the engine for memory sample at its interval in s->config. */
static int change_memory(struct session *s)
{
	struct config mem_only = *s->config;
	struct engine_start start;

	if (!s->mem.recording)
		return 0;
	mem_only.cpu_interval_ns = mem_only.wall_interval_ns = OPTION_OFF;
	mem_only.engine_options = NULL;
	start = engine_start_of(&mem_only, true);
	return s->mem.engine->change_intervals ? s->mem.engine->change_intervals(&start) : -ENOTSUP;
}

/* Make the engines sample as s->config says. The current chunk ends, and the report goes on. */
static int change_within_report(struct session *s, uint64_t now_ns)
{
	int err = change_in_place(s, true);

	if (err == -ENOTSUP && session_can_restart(s) && now_ns >= s->restart_ns) {
		s->restart_ns = now_ns + RESTART_NS;
		err = session_restart(s);
	}
	return err ? err : change_memory(s);
}

uint64_t intervals_keep_budget(struct session *s, uint64_t now_ns)
{
	struct config before;
	int err;

	if (!overhead_is_due(&s->overhead, now_ns))
		return s->overhead.due_ns;
	overhead_measure(&s->overhead, now_ns);
	before = *s->config;
	if (s->state != SESSION_RUNS || !overhead_plan(&s->overhead, s->settings, now_ns))
		return s->overhead.due_ns;
	intervals_update(s, NULL);
	if (!intervals_differ(&before, s->config))
		return s->overhead.due_ns;
	err = change_within_report(s, now_ns);
	if (!err) {
		overhead_log(&s->overhead);
		return s->overhead.due_ns;
	}
	applied_restore(s, &before);
	overhead_keep(&s->overhead, &s->applied);
	if (err != -ENOTSUP && session_resume(s))
		log_error("%s; profiling is paused", failure());
	return s->overhead.due_ns;
}

void intervals_restore(struct session *s)
{
	int err = intervals_apply(s, NULL, false);

	if (err == -EPERM)
		log_warn("the intervals of a profile stay: %s cannot restart", s->all.engine->name);
	else if (err && session_resume(s))
		log_error("%s; profiling is paused", failure());
}

uint64_t intervals_expire(struct session *s, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	bool expired = false;

	for (size_t i = 0; i < s->capture_count; i++) {
		struct capture_intervals *intervals = &s->captures[i].intervals;

		if (now_ns >= intervals->until_ns) {
			*intervals = capture_intervals_none;
			expired = true;
		}
		shorten(&next_ns, intervals->until_ns);
	}
	if (expired)
		intervals_restore(s);
	return next_ns;
}
