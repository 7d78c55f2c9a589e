/* Sum of the losses that recordings report. */
#include "profile/aggregate/losses.h"

#include <inttypes.h>

#define SHARE_MIN 0.001

void losses_read(struct losses *losses, const struct jfr_chunk *chunk,
		 const struct jfr_event *event)
{
	const struct losses one = {
		.taken = jfr_event_get_integer(chunk, event, "samples"),
		.lost = jfr_event_get_integer(chunk, event, "ringFull") +
			jfr_event_get_integer(chunk, event, "late") +
			jfr_event_get_integer(chunk, event, "eventsDropped"),
		.without_stack = jfr_event_get_integer(chunk, event, "stackTableFull"),
		.allocations = jfr_event_get_integer(chunk, event, "tableEvictions"),
		.cut_stacks = jfr_event_get_integer(chunk, event, "retainedStacksCut"),
		.is_known = true,
	};

	losses_add(losses, &one);
}

void losses_add(struct losses *into, const struct losses *from)
{
	into->taken += from->taken;
	into->lost += from->lost;
	into->without_stack += from->without_stack;
	into->allocations += from->allocations;
	into->cut_stacks += from->cut_stacks;
	into->is_known |= from->is_known;
	costs_add(&into->costs, &from->costs);
}

static double part_of_whole(uint64_t part, double whole)
{
	return whole > 0 ? (double)part / whole : part > 0;
}

double losses_share(const struct losses *l)
{
	return part_of_whole(l->lost, (double)l->lost + (double)l->taken);
}

/* Append to TEXT, of which LENGTH bytes are used, with a separator. */
#define APPEND(...)                                                                          \
	do {                                                                                 \
		int more = snprintf(text + length, size - length, "%s", length ? "; " : ""); \
                                                                                             \
		length += more > 0 && (size_t)more < size - length ? (size_t)more : 0;       \
		more = snprintf(text + length, size - length, __VA_ARGS__);                  \
		length += more > 0 && (size_t)more < size - length ? (size_t)more : 0;       \
	} while (0)

bool losses_text(const struct losses *l, bool live, char *text, size_t size)
{
	double lost = losses_share(l);
	char reduced[256];
	size_t length = 0;

	*text = '\0';
	if (lost >= SHARE_MIN)
		APPEND("%" PRIu64 " of %" PRIu64 " samples are lost, so shares may be off by %.*f "
		       "points: lengthen the sampling intervals",
		       l->lost, l->lost + l->taken, lost < 0.1, 100 * lost);
	if (part_of_whole(l->without_stack, (double)l->taken) >= SHARE_MIN)
		APPEND("%" PRIu64 " of %" PRIu64 " samples have no stack: shorten "
		       "ASPROF_AGENT_REPORTING_INTERVAL or lengthen the sampling intervals",
		       l->without_stack, l->taken);
	if (live && l->allocations)
		APPEND("%" PRIu64 " living allocations are unknown: raise ASPROF_AGENT_NATIVE_MEM",
		       l->allocations);
	if (live && l->cut_stacks)
		APPEND("%" PRIu64
		       " stacks of retained memory are cut: raise ASPROF_AGENT_NATIVE_MEM",
		       l->cut_stacks);
	if (costs_text(&l->costs, reduced, sizeof(reduced)))
		APPEND("%s", reduced);
	return length > 0;
}

void losses_json(FILE *out, const struct losses *l)
{
	if (!l->is_known) {
		fputs("null", out);
		return;
	}
	fprintf(out,
		"{\"lost_samples\":%" PRIu64 ",\"kept_samples\":%" PRIu64 ",\"lost_share\":%.6f,"
		"\"samples_without_stack\":%" PRIu64 ",\"unknown_allocations\":%" PRIu64
		",\"cut_retained_stacks\":%" PRIu64 "}",
		l->lost, l->taken, losses_share(l), l->without_stack, l->allocations,
		l->cut_stacks);
}
