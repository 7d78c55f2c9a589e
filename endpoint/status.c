/* How the agent is, in words for programs. */
#include "endpoint/status.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/shared.h"
#include "endpoint/response.h"

#define NS_PER_MS 1000000u

/* The kernel's number for the CPU clock of thread TID of this process. Source: linux/posix-timers.h. */
static clockid_t thread_clock_id(pid_t tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 4 | 2);
}

static void cost_add_thread(struct status_cost *cost, pid_t tid)
{
	struct timespec used;

	if (tid <= 0 || clock_read(thread_clock_id(tid), &used))
		return;
	cost->cpu_ns += (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	cost->threads++;
}

void status_cost(struct status_cost *cost)
{
	int64_t bytes = atomic_load(&shared->agent.memory_bytes);

	*cost = (struct status_cost){ .memory_bytes = bytes > 0 ? (uint64_t)bytes : 0 };
	cost_add_thread(cost, atomic_load(&shared->agent.id));
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		cost_add_thread(cost, atomic_load(&shared->own_threads[i]));
}

static const char *const log_names[] = { "off", "error", "warn", "info", "debug" };

/* What is lost, in the words of JSON and of the metric's label. */
static const struct {
	const char *name;
	size_t offset;
} loss_kinds[] = {
#define KIND(member)                                            \
	{                                                       \
#member, offsetof(struct engine_losses, member) \
	}
	KIND(ring_full), KIND(late),    KIND(timers), KIND(allocations),
	KIND(stacks),    KIND(threads), KIND(events), KIND(stalls),
#undef KIND
};

#define KINDS (sizeof(loss_kinds) / sizeof(loss_kinds[0]))

static uint64_t lost(const struct live_status *s, size_t i)
{
	return *(const uint64_t *)((const char *)&s->kinds + loss_kinds[i].offset);
}

/* ---- JSON ---- */

struct json {
	struct buf *out;
	int err; /* the first */
};

static void json_append(struct json *j, const char *text)
{
	if (!j->err)
		j->err = buf_append_string(j->out, text);
}

/* Behind what stands there: a comma, but at the beginning of an object. */
static void json_key(struct json *j, const char *name)
{
	uint8_t last = j->out->length ? j->out->data[j->out->length - 1] : '{';

	if (last != '{' && last != '[')
		json_append(j, ",");
	if (!j->err)
		j->err = buf_printf(j->out, "\"%s\":", name);
}

static void string(struct json *j, const char *name, const char *value)
{
	json_key(j, name);
	if (!j->err)
		j->err = response_append_json(j->out, value);
}

static void number(struct json *j, const char *name, uint64_t value)
{
	json_key(j, name);
	if (!j->err)
		j->err = buf_printf(j->out, "%" PRIu64, value);
}

/* A setting that may be off: null. */
static void json_setting(struct json *j, const char *name, uint64_t value)
{
	if (value != OPTION_OFF) {
		number(j, name, value);
		return;
	}
	json_key(j, name);
	json_append(j, "null");
}

static void json_settings(struct json *j, const struct live_status *s)
{
	json_key(j, "settings");
	json_append(j, "{");
	number(j, "reporting_interval_ns", s->reporting_interval_ns);
	json_setting(j, "cpu_interval_ns", s->cpu_interval_ns);
	json_setting(j, "wall_interval_ns", s->wall_interval_ns);
	json_setting(j, "native_mem_bytes", s->native_mem_bytes);
	json_setting(j, "stalls_ns", s->stalls_ns);
	string(j, "profiling_group", s->group);
	string(j, "tags", s->tags);
	string(j, "log", log_names[s->log]);
	json_append(j, "}");
}

static void destinations(struct json *j, const struct live_status *s)
{
	json_key(j, "destinations");
	json_append(j, "[");
	for (size_t i = 0; i < s->destination_count; i++) {
		const struct live_destination *d = &s->destinations[i];

		json_append(j, i ? ",{" : "{");
		string(j, "name", d->name);
		number(j, "delivered", d->delivered);
		number(j, "failed_tries", d->failed);
		number(j, "maybe_twice", d->maybe_twice);
		number(j, "last_delivered_ms", d->delivered_ms);
		string(j, "last_error", d->error ? strerror(-d->error) : "");
		json_append(j, d->waiting ? ",\"waiting\":true}" : ",\"waiting\":false}");
	}
	json_append(j, "]");
}

static void reports(struct json *j, const struct live_status *s)
{
	json_key(j, "reports");
	json_append(j, "{");
	number(j, "made", s->reports);
	number(j, "last_ms", s->reports_ms);
	number(j, "waiting_bytes", s->losses.spooled_bytes);
	number(j, "dropped_bytes", s->losses.dropped_bytes);
	number(j, "dropped_for_room", s->losses.full);
	number(j, "dropped_for_age", s->losses.aged);
	number(j, "refused", s->losses.refused);
	destinations(j, s);
	json_append(j, "}");
}

int status_write_json(struct buf *out, const struct live_status *s, const struct status_cost *cost)
{
	struct json j = { .out = out };

	json_append(&j, "{");
	number(&j, "pid", (uint64_t)getpid());
	string(&j, "executable", s->executable);
	string(&j, "version", ASPROF_AGENT_VERSION);
	json_append(&j, s->running ? ",\"running\":true" : ",\"running\":false");
	string(&j, "engine", s->engine);
	string(&j, "engine_version", s->engine_version);
	number(&j, "since_ms", s->since_ms);
	json_key(&j, "samples");
	json_append(&j, "{");
	number(&j, "taken", s->samples);
	number(&j, "lost", s->lost);
	json_append(&j, "}");
	for (size_t i = 0; i < KINDS && s->kinds.told; i++) {
		if (!i) {
			json_key(&j, "lost_by_kind");
			json_append(&j, "{");
		}
		number(&j, loss_kinds[i].name, lost(s, i));
	}
	json_append(&j, s->kinds.told ? "}" : "");
	json_append(&j, s->memory ? ",\"native_memory\":true" : ",\"native_memory\":false");
	json_settings(&j, s);
	reports(&j, s);
	json_key(&j, "agent");
	json_append(&j, "{");
	number(&j, "cpu_ns", cost->cpu_ns);
	number(&j, "memory_bytes", cost->memory_bytes);
	number(&j, "threads", cost->threads);
	json_append(&j, "}");
	string(&j, "last_error", s->error);
	json_append(&j, "}\n");
	return j.err;
}

/* ---- Metrics ---- */

enum kind { GAUGE, COUNTER, INFO };

struct metrics {
	struct buf *out;
	bool openmetrics;
	int err; /* the first */
};

/* A counter's family has no _total in OpenMetrics, and has it in the older format. */
static void metrics_family(struct metrics *m, enum kind kind, const char *name, const char *unit,
			   const char *help)
{
	static const char *const kinds[] = { "gauge", "counter", "info" };
	const char *end = "";

	if (kind == COUNTER && !m->openmetrics)
		end = "_total";
	if (kind == INFO && !m->openmetrics) {
		end = "_info";
		kind = GAUGE;
	}
	if (!m->err)
		m->err =
			buf_printf(m->out, "# TYPE asprof_agent_%s%s %s\n", name, end, kinds[kind]);
	if (!m->err && unit && m->openmetrics)
		m->err = buf_printf(m->out, "# UNIT asprof_agent_%s %s\n", name, unit);
	if (!m->err)
		m->err = buf_printf(m->out, "# HELP asprof_agent_%s%s %s\n", name, end, help);
}

/* A label's value: the same escapes in both formats. */
static void metrics_label(struct metrics *m, const char *name, const char *value,
			  const char *before)
{
	if (!m->err)
		m->err = buf_printf(m->out, "%s%s=\"", before, name);
	for (; *value && !m->err; value++) {
		if (*value == '\n')
			m->err = buf_append_string(m->out, "\\n");
		else if (*value == '"' || *value == '\\')
			m->err = buf_printf(m->out, "\\%c", *value);
		else
			m->err = buf_append(m->out, value, 1);
	}
	if (!m->err)
		m->err = buf_append_string(m->out, "\"");
}

static void metrics_name(struct metrics *m, const char *name, const char *end)
{
	if (!m->err)
		m->err = buf_printf(m->out, "asprof_agent_%s%s", name, end);
}

static void value(struct metrics *m, double v)
{
	if (!m->err)
		m->err = buf_printf(m->out, " %.17g\n", v);
}

static void metrics_single(struct metrics *m, enum kind kind, const char *name, const char *unit,
			   double v, const char *help)
{
	metrics_family(m, kind, name, unit, help);
	metrics_name(m, name, kind == COUNTER ? "_total" : "");
	value(m, v);
}

/* NUMBER is the offset of a number of struct live_destination's. */
static void metrics_destinations(struct metrics *m, const struct live_status *s, const char *name,
				 size_t number, const char *help)
{
	uint64_t count;

	metrics_family(m, COUNTER, name, NULL, help);
	for (size_t i = 0; i < s->destination_count; i++) {
		metrics_name(m, name, "_total");
		metrics_label(m, "destination", s->destinations[i].name, "{");
		if (!m->err)
			m->err = buf_append_string(m->out, "}");
		memcpy(&count, (const char *)&s->destinations[i] + number, sizeof(count));
		value(m, (double)count);
	}
}

static void metrics_losses(struct metrics *m, const struct live_status *s)
{
	if (!s->kinds.told)
		return;
	metrics_family(m, COUNTER, "losses", NULL, "What was lost, by kind.");
	for (size_t i = 0; i < KINDS; i++) {
		metrics_name(m, "losses", "_total");
		metrics_label(m, "kind", loss_kinds[i].name, "{");
		if (!m->err)
			m->err = buf_append_string(m->out, "}");
		value(m, (double)lost(s, i));
	}
}

int status_write_metrics(struct buf *out, const struct live_status *s,
			 const struct status_cost *cost, bool openmetrics)
{
	struct metrics m = { .out = out, .openmetrics = openmetrics };

	metrics_family(&m, INFO, "build", NULL, "What profiles this process.");
	metrics_name(&m, "build", "_info");
	metrics_label(&m, "version", ASPROF_AGENT_VERSION, "{");
	metrics_label(&m, "engine", s->engine, ",");
	metrics_label(&m, "engine_version", s->engine_version, ",");
	metrics_label(&m, "executable", s->executable, ",");
	metrics_label(&m, "group", s->group, ",");
	if (!m.err)
		m.err = buf_append_string(out, "}");
	value(&m, 1);
	metrics_single(&m, GAUGE, "running", NULL, s->running, "1 while samples are taken.");
	metrics_single(&m, GAUGE, "start_time_seconds", "seconds", (double)s->since_ms / 1e3,
		       "When the taking of samples began, since 1970.");
	metrics_single(&m, COUNTER, "samples", NULL, (double)s->samples,
		       "Samples taken since then.");
	metrics_single(&m, COUNTER, "samples_lost", NULL, (double)s->lost,
		       "Samples lost since then.");
	metrics_losses(&m, s);
	metrics_single(&m, COUNTER, "reports", NULL, (double)s->reports, "Reports made.");
	metrics_destinations(&m, s, "reports_delivered",
			     offsetof(struct live_destination, delivered),
			     "Reports that a destination has got.");
	metrics_destinations(&m, s, "delivery_failures", offsetof(struct live_destination, failed),
			     "Tries to deliver that failed.");
	metrics_destinations(
		&m, s, "messages_maybe_twice", offsetof(struct live_destination, maybe_twice),
		"Messages that a destination may count twice, as its first answer was lost.");
	metrics_single(&m, GAUGE, "spool_bytes", "bytes", (double)s->losses.spooled_bytes,
		       "Reports that wait for their delivery.");
	metrics_single(&m, COUNTER, "reports_dropped_bytes", "bytes",
		       (double)s->losses.dropped_bytes, "Reports that were given up.");
	metrics_single(&m, COUNTER, "cpu_seconds", "seconds", (double)cost->cpu_ns / 1e9,
		       "CPU time of the agent's threads.");
	metrics_single(&m, GAUGE, "memory_bytes", "bytes", (double)cost->memory_bytes,
		       "Memory that the agent's side has mapped.");
	metrics_single(&m, GAUGE, "threads", NULL, cost->threads, "The agent's own threads.");
	if (!m.err && openmetrics)
		m.err = buf_append_string(out, "# EOF\n");
	return m.err;
}
