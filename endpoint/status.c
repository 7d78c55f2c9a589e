/* The agent's status as JSON and as metrics. */
#include "endpoint/status.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "core/agent/cost_counters.h"
#include "core/own_thread.h"
#include "core/shared.h"
#include "endpoint/response.h"

void status_measure_cost(struct status_cost *cost)
{
	memory_account_read(&cost->memory);
	cost->cpu_ns = own_thread_cpu_ns(&cost->threads);
}

static const char *const log_names[] = { "off", "error", "warn", "info", "debug" };

/* Kinds of losses. The name is a key of the JSON object and a label value of the metric. */
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

static uint64_t loss_count(const struct live_status *s, size_t i)
{
	return *(const uint64_t *)((const char *)&s->kinds + loss_kinds[i].offset);
}

/* ---- JSON ---- */

/* Append a key, after a comma unless it is the first one of an object. */
static void json_key(struct buf *out, const char *name)
{
	uint8_t last = out->length ? out->data[out->length - 1] : '{';

	if (last != '{' && last != '[')
		buf_append_string(out, ",");
	buf_printf(out, "\"%s\":", name);
}

static void json_string(struct buf *out, const char *name, const char *value)
{
	json_key(out, name);
	response_append_json(out, value);
}

static void json_number(struct buf *out, const char *name, uint64_t value)
{
	json_key(out, name);
	buf_printf(out, "%" PRIu64, value);
}

/* Append a setting; null if it is off. */
static void json_setting(struct buf *out, const char *name, uint64_t value)
{
	if (value != OPTION_OFF) {
		json_number(out, name, value);
		return;
	}
	json_key(out, name);
	buf_append_string(out, "null");
}

static void json_settings(struct buf *out, const struct live_status *s)
{
	json_key(out, "settings");
	buf_append_string(out, "{");
	json_number(out, "reporting_interval_ns", s->reporting_interval_ns);
	json_setting(out, "cpu_interval_ns", s->cpu_interval_ns);
	json_setting(out, "wall_interval_ns", s->wall_interval_ns);
	json_setting(out, "native_mem_bytes", s->native_mem_bytes);
	json_setting(out, "stalls_ns", s->stalls_ns);
	json_string(out, "profiling_group", s->group);
	json_string(out, "tags", s->tags);
	json_string(out, "log", log_names[s->log]);
	buf_append_string(out, "}");
}

static void json_destinations(struct buf *out, const struct live_status *s)
{
	json_key(out, "destinations");
	buf_append_string(out, "[");
	for (size_t i = 0; i < s->destination_count; i++) {
		const struct live_destination *d = &s->destinations[i];

		buf_append_string(out, i ? ",{" : "{");
		json_string(out, "name", d->name);
		json_number(out, "delivered", d->delivered);
		json_number(out, "failed_tries", d->failed);
		json_number(out, "maybe_twice", d->maybe_twice);
		json_number(out, "last_delivered_ms", d->delivered_ms);
		json_string(out, "last_error", d->error ? strerror(-d->error) : "");
		buf_append_string(out, d->waiting ? ",\"waiting\":true}" : ",\"waiting\":false}");
	}
	buf_append_string(out, "]");
}

static void json_reports(struct buf *out, const struct live_status *s)
{
	json_key(out, "reports");
	buf_append_string(out, "{");
	json_number(out, "made", s->reports);
	json_number(out, "last_ms", s->reports_ms);
	json_number(out, "waiting_bytes", s->losses.spooled_bytes);
	json_number(out, "dropped_bytes", s->losses.dropped_bytes);
	json_number(out, "dropped_for_room", s->losses.dropped_full);
	json_number(out, "dropped_for_age", s->losses.dropped_aged);
	json_number(out, "refused", s->losses.dropped_refused);
	json_destinations(out, s);
	buf_append_string(out, "}");
}

/* Memory by kind. */
static const struct {
	const char *name;
	size_t offset;
} memory_kinds[] = {
#define KIND(member)                                             \
	{                                                        \
#member, offsetof(struct memory_account, member) \
	}
	KIND(heap), KIND(tables), KIND(captures), KIND(signal_stacks), KIND(engine),
#undef KIND
};

#define MEMORY_KINDS (sizeof(memory_kinds) / sizeof(memory_kinds[0]))

static uint64_t memory_of_kind(const struct memory_account *memory, size_t i)
{
	return *(const uint64_t *)((const char *)memory + memory_kinds[i].offset);
}

/* Append the agent's memory: use by kind, limit, and refused requests. */
static void json_memory(struct buf *out, const struct memory_account *memory)
{
	json_number(out, "memory_bytes", memory->heap + memory->tables + memory->captures);
	json_setting(out, "memory_limit_bytes", memory->limit ? memory->limit : OPTION_OFF);
	json_key(out, "memory");
	buf_append_string(out, "{");
	for (size_t i = 0; i < MEMORY_KINDS; i++)
		json_number(out, memory_kinds[i].name, memory_of_kind(memory, i));
	buf_append_string(out, "}");
	json_key(out, "memory_refused");
	buf_append_string(out, "{");
	for (size_t i = 0; i < MEMORY_USES; i++)
		json_number(out, memory_use_names[i], memory->refused[i]);
	buf_append_string(out, "}");
}

static void json_decimal(struct buf *out, const char *name, double value)
{
	json_key(out, name);
	buf_printf(out, "%.4f", value);
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Append what sampling has cost recently, in percent of the program's CPU time. */
static void json_costs(struct buf *out, const struct report_costs *costs)
{
	json_key(out, "cost");
	buf_append_string(out, "{");
	json_number(out, "elapsed_ns", costs->elapsed_ns);
	json_number(out, "program_cpu_ns", costs->program_ns);
	json_key(out, "agent");
	buf_append_string(out, "{");
	json_decimal(out, "percent", 100 * share_of(costs->fixed_ns, costs->program_ns));
	buf_append_string(out, "}");
	for (size_t i = 0; i < COST_KINDS; i++) {
		const struct report_cost *kind = &costs->kinds[i];

		if (!kind->ns)
			continue;
		json_key(out, cost_names[i]);
		buf_append_string(out, "{");
		json_decimal(out, "percent", 100 * share_of(kind->ns, costs->program_ns));
		json_number(out, "samples", kind->samples);
		json_decimal(out, "us_for_a_sample", share_of(kind->ns, kind->samples) / 1e3);
		if (kind->sampled_ns)
			json_decimal(out, "kept_percent",
				     100 * share_of(kind->kept_ns, kind->sampled_ns));
		buf_append_string(out, "}");
	}
	buf_append_string(out, "}");
}

int status_write_json(struct buf *out, const struct live_status *s, const struct status_cost *cost)
{
	buf_append_string(out, "{");
	json_number(out, "pid", (uint64_t)getpid());
	json_string(out, "executable", s->executable);
	json_string(out, "version", ASPROF_AGENT_VERSION);
	buf_append_string(out, s->running ? ",\"running\":true" : ",\"running\":false");
	json_string(out, "engine", s->engine);
	json_string(out, "engine_version", s->engine_version);
	json_number(out, "since_ms", s->since_ms);
	json_key(out, "samples");
	buf_append_string(out, "{");
	json_number(out, "taken", s->samples);
	json_number(out, "lost", s->lost);
	buf_append_string(out, "}");
	for (size_t i = 0; i < KINDS && s->kinds.is_reported; i++) {
		if (!i) {
			json_key(out, "lost_by_kind");
			buf_append_string(out, "{");
		}
		json_number(out, loss_kinds[i].name, loss_count(s, i));
	}
	buf_append_string(out, s->kinds.is_reported ? "}" : "");
	buf_append_string(out, s->memory ? ",\"native_memory\":true" : ",\"native_memory\":false");
	json_settings(out, s);
	json_reports(out, s);
	json_key(out, "agent");
	buf_append_string(out, "{");
	json_number(out, "cpu_ns", cost->cpu_ns);
	json_memory(out, &cost->memory);
	json_number(out, "threads", cost->threads);
	buf_append_string(out, "}");
	json_costs(out, &s->recent_costs);
	json_string(out, "last_error", s->error);
	buf_append_string(out, "}\n");
	return out->err;
}

/* ---- Metrics ---- */

enum kind { GAUGE, COUNTER, INFO };

struct metrics {
	struct buf *out;
	bool openmetrics;
};

/* Append the comments of a metric family. The name of a counter ends in _total in the older format only. */
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
	buf_printf(m->out, "# TYPE asprof_agent_%s%s %s\n", name, end, kinds[kind]);
	if (unit && m->openmetrics)
		buf_printf(m->out, "# UNIT asprof_agent_%s %s\n", name, unit);
	buf_printf(m->out, "# HELP asprof_agent_%s%s %s\n", name, end, help);
}

static bool escape_label(struct buf *out, uint8_t c)
{
	if (c == '\n')
		buf_append_string(out, "\\n");
	else if (c == '"' || c == '\\')
		buf_printf(out, "\\%c", c);
	else
		return false;
	return true;
}

/* Append BEFORE and a label. Both formats have the same escapes. Prometheus rejects a response with invalid UTF-8, such as
 * the name of a file in another encoding. */
static void metrics_label(struct metrics *m, const char *name, const char *value,
			  const char *before)
{
	buf_printf(m->out, "%s%s=\"", before, name);
	response_append_escaped(m->out, value, escape_label, "\ufffd");
	buf_append_string(m->out, "\"");
}

static void metrics_name(struct metrics *m, const char *name, const char *end)
{
	buf_printf(m->out, "asprof_agent_%s%s", name, end);
}

static void metrics_value(struct metrics *m, double v)
{
	buf_printf(m->out, " %.17g\n", v);
}

static void metrics_single(struct metrics *m, enum kind kind, const char *name, const char *unit,
			   double v, const char *help)
{
	metrics_family(m, kind, name, unit, help);
	metrics_name(m, name, kind == COUNTER ? "_total" : "");
	metrics_value(m, v);
}

/* Append a counter with a value for each destination. OFFSET is the value's offset in struct live_destination. */
static void metrics_destinations(struct metrics *m, const struct live_status *s, const char *name,
				 size_t offset, const char *help)
{
	uint64_t count;

	metrics_family(m, COUNTER, name, NULL, help);
	for (size_t i = 0; i < s->destination_count; i++) {
		metrics_name(m, name, "_total");
		metrics_label(m, "destination", s->destinations[i].name, "{");
		buf_append_string(m->out, "}");
		memcpy(&count, (const char *)&s->destinations[i] + offset, sizeof(count));
		metrics_value(m, (double)count);
	}
}

/* Append the value of one kind. */
static void metrics_kind(struct metrics *m, const char *name, const char *end, const char *kind,
			 double v)
{
	metrics_name(m, name, end);
	metrics_label(m, "kind", kind, "{");
	buf_append_string(m->out, "}");
	metrics_value(m, v);
}

static void metrics_losses(struct metrics *m, const struct live_status *s)
{
	if (!s->kinds.is_reported)
		return;
	metrics_family(m, COUNTER, "losses", NULL, "Losses by kind.");
	for (size_t i = 0; i < KINDS; i++)
		metrics_kind(m, "losses", "_total", loss_kinds[i].name, (double)loss_count(s, i));
}

/* Append a counter with a value for each kind of cost: nanoseconds as seconds, or samples. */
static void metrics_costs(struct metrics *m, const struct live_status *s, bool seconds)
{
	const char *name = seconds ? "sampling_cpu_seconds" : "sampling_samples";

	metrics_family(
		m, COUNTER, name, seconds ? "seconds" : NULL,
		seconds ? "CPU time for samples by kind; interpreters is a part of the others."
			: "Samples by kind, as they were taken.");
	for (size_t i = 0; i < COST_KINDS; i++)
		metrics_kind(m, name, "_total", cost_names[i],
			     seconds ? (double)s->costs.kinds[i].ns / 1e9
				     : (double)s->costs.kinds[i].samples);
}

/* Append the share of the samples that the overhead budget keeps, of the kinds that it can reduce. */
static void metrics_kept(struct metrics *m, const struct live_status *s)
{
	metrics_family(m, GAUGE, "kept_ratio", "ratio",
		       "Share of the samples that the overhead budget has kept recently.");
	for (size_t i = 0; i < COST_KINDS; i++) {
		const struct report_cost *kind = &s->recent_costs.kinds[i];

		if (!kind->sampled_ns)
			continue;
		metrics_name(m, "kept_ratio", "");
		metrics_label(m, "kind", cost_names[i], "{");
		buf_append_string(m->out, "}");
		metrics_value(m, share_of(kind->kept_ns, kind->sampled_ns));
	}
}

static void metrics_memory(struct metrics *m, const struct memory_account *memory)
{
	metrics_single(m, GAUGE, "memory_bytes", "bytes",
		       (double)(memory->heap + memory->tables + memory->captures),
		       "Memory of the agent that ASPROF_AGENT_MEMORY limits.");
	metrics_single(m, GAUGE, "memory_limit_bytes", "bytes", (double)memory->limit,
		       "ASPROF_AGENT_MEMORY; 0: no limit.");
	metrics_family(m, GAUGE, "memory_kind_bytes", "bytes",
		       "Memory by kind; signal_stacks and engine have no limit.");
	for (size_t i = 0; i < MEMORY_KINDS; i++)
		metrics_kind(m, "memory_kind_bytes", "", memory_kinds[i].name,
			     (double)memory_of_kind(memory, i));
	metrics_family(m, COUNTER, "memory_refused", NULL,
		       "Requests for memory that ASPROF_AGENT_MEMORY refused.");
	for (size_t i = 0; i < MEMORY_USES; i++)
		metrics_kind(m, "memory_refused", "_total", memory_use_names[i],
			     (double)memory->refused[i]);
}

/* Append what the agent itself uses. */
static void metrics_agent(struct metrics *m, const struct live_status *s,
			  const struct status_cost *cost)
{
	metrics_single(m, COUNTER, "cpu_seconds", "seconds", (double)cost->cpu_ns / 1e9,
		       "CPU time of the agent's threads.");
	metrics_single(m, COUNTER, "program_cpu_seconds", "seconds",
		       (double)s->costs.program_ns / 1e9,
		       "CPU time of the program without the profiler.");
	metrics_costs(m, s, true);
	metrics_costs(m, s, false);
	metrics_kept(m, s);
	metrics_memory(m, &cost->memory);
	metrics_single(m, GAUGE, "threads", NULL, cost->threads, "The agent's own threads.");
}

int status_write_metrics(struct buf *out, const struct live_status *s,
			 const struct status_cost *cost, bool openmetrics)
{
	struct metrics m = { .out = out, .openmetrics = openmetrics };

	metrics_family(&m, INFO, "build", NULL, "Version and engine of the profiler.");
	metrics_name(&m, "build", "_info");
	metrics_label(&m, "version", ASPROF_AGENT_VERSION, "{");
	metrics_label(&m, "engine", s->engine, ",");
	metrics_label(&m, "engine_version", s->engine_version, ",");
	metrics_label(&m, "executable", s->executable, ",");
	metrics_label(&m, "group", s->group, ",");
	buf_append_string(out, "}");
	metrics_value(&m, 1);
	metrics_single(&m, GAUGE, "running", NULL, s->running,
		       "1 while profiling runs, 0 during a pause.");
	metrics_single(&m, GAUGE, "start_time_seconds", "seconds", (double)s->since_ms / 1e3,
		       "Start or last resume of profiling, since 1970.");
	metrics_single(&m, COUNTER, "samples", NULL, (double)s->samples,
		       "Samples taken since the start or resume.");
	metrics_single(&m, COUNTER, "samples_lost", NULL, (double)s->lost,
		       "Samples lost since the start or resume.");
	metrics_losses(&m, s);
	metrics_single(&m, COUNTER, "reports", NULL, (double)s->reports, "Reports created.");
	metrics_destinations(&m, s, "reports_delivered",
			     offsetof(struct live_destination, delivered),
			     "Reports that a destination has accepted.");
	metrics_destinations(&m, s, "delivery_failures", offsetof(struct live_destination, failed),
			     "Failed delivery attempts.");
	metrics_destinations(
		&m, s, "messages_maybe_twice", offsetof(struct live_destination, maybe_twice),
		"Messages that a destination may count twice, because its first response "
		"was lost.");
	metrics_single(&m, GAUGE, "spool_bytes", "bytes", (double)s->losses.spooled_bytes,
		       "Size of the reports that wait for delivery.");
	metrics_single(&m, COUNTER, "reports_dropped_bytes", "bytes",
		       (double)s->losses.dropped_bytes, "Size of the reports that were dropped.");
	metrics_agent(&m, s, cost);
	if (openmetrics)
		buf_append_string(out, "# EOF\n");
	return out->err;
}
