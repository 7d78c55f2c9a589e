/* Sum of the agent's costs that recordings report. */
#include "profile/aggregate/costs.h"

#include <stdio.h>
#include <string.h>

const char *const costs_names[COSTS_KINDS] = {
	[COSTS_CPU] = "cpu",       [COSTS_WALL] = "wall",   [COSTS_MEMORY] = "memory",
	[COSTS_STALLS] = "stalls", [COSTS_LOCKS] = "locks", [COSTS_INTERPRETERS] = "interpreters",
	[COSTS_AGENT] = "agent",
};

static enum costs_kind event_kind(const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	struct buf text = BUF_INIT(64);
	struct jfr_value value;
	const char *name = NULL;
	unsigned kind = COSTS_KINDS;

	if (jfr_event_get_field(chunk, event, "kind", &value) &&
	    jfr_value_append_string(chunk, &value, &text))
		name = buf_string(&text);
	if (name)
		for (kind = 0; kind < COSTS_KINDS && strcmp(costs_names[kind], name) != 0;)
			kind++;
	buf_free(&text);
	return kind;
}

static double event_number(const struct jfr_chunk *chunk, const struct jfr_event *event,
			   const char *field)
{
	return (double)jfr_event_get_integer(chunk, event, field);
}

void costs_read(struct costs *costs, const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	enum costs_kind kind = event_kind(chunk, event);

	if (kind == COSTS_KINDS)
		return;
	costs->is_known = true;
	costs->kinds[kind].samples += event_number(chunk, event, "samples");
	costs->kinds[kind].cpu_ns += event_number(chunk, event, "cpuTime");
	costs->kinds[kind].sampled_ns += event_number(chunk, event, "sampledTime");
	costs->kinds[kind].kept_ns += event_number(chunk, event, "keptTime");
	/* Each event of a report repeats these. */
	if (kind != COSTS_AGENT)
		return;
	costs->program_ns += event_number(chunk, event, "programTime");
	costs->elapsed_ns += event_number(chunk, event, "elapsed");
}

void costs_add(struct costs *into, const struct costs *from)
{
	for (unsigned i = 0; i < COSTS_KINDS; i++) {
		into->kinds[i].samples += from->kinds[i].samples;
		into->kinds[i].cpu_ns += from->kinds[i].cpu_ns;
		into->kinds[i].sampled_ns += from->kinds[i].sampled_ns;
		into->kinds[i].kept_ns += from->kinds[i].kept_ns;
	}
	into->program_ns += from->program_ns;
	into->elapsed_ns += from->elapsed_ns;
	into->is_known |= from->is_known;
}

double costs_kept(const struct costs *costs, enum costs_kind kind)
{
	double sampled = costs->kinds[kind].sampled_ns, kept = costs->kinds[kind].kept_ns;

	return sampled > 0 && kept < sampled ? kept / sampled : 1;
}

double costs_sum(const struct costs *costs)
{
	double sum = 0;

	for (unsigned i = 0; i < COSTS_KINDS; i++)
		if (i != COSTS_INTERPRETERS)
			sum += costs->kinds[i].cpu_ns;
	return sum;
}

bool costs_text(const struct costs *costs, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (unsigned i = 0; i < COSTS_KINDS; i++) {
		double kept = costs_kept(costs, i);
		int more;

		if (kept >= COSTS_KEPT_MIN)
			continue;
		more = snprintf(text + length, size - length, "%s%.*f%% of the %s samples",
				length ? ", " : "ASPROF_AGENT_BUDGET kept ", kept < 0.1, 100 * kept,
				costs_names[i]);
		length += more > 0 && (size_t)more < size - length ? (size_t)more : 0;
	}
	if (length)
		snprintf(text + length, size - length, "; the totals are right");
	return length > 0;
}
