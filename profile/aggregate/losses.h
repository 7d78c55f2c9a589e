/* Sum of the losses that recordings report in asprof.Losses events. async-profiler's chunks have
 * none. */
#ifndef PROFILE_AGGREGATE_LOSSES_H
#define PROFILE_AGGREGATE_LOSSES_H

#include <stdio.h>

#include "profile/aggregate/costs.h"
#include "profile/jfr/jfr_read.h"

struct losses {
	uint64_t taken, lost;   /* samples of all kinds; TAKEN excludes LOST */
	uint64_t without_stack; /* samples kept without a stack */
	uint64_t allocations;   /* live allocations that were not tracked */
	uint64_t cut_stacks;    /* cut stacks of retained memory */
	bool is_known;          /* there was an asprof.Losses event */
	struct costs costs;     /* samples that the overhead budget left out */
};

/* Add EVENT, a JFR_LOSSES of CHUNK. Not the costs (costs.h). */
void losses_read(struct losses *losses, const struct jfr_chunk *chunk,
		 const struct jfr_event *event);
void losses_add(struct losses *into, const struct losses *from);

/* Returns the share of all samples that was lost, 0 to 1. The error of a function's share is at
 * most this. */
double losses_share(const struct losses *losses);

/* Write a line to TEXT, separated by "; ":
 *
 * * the lost samples, the possible error of shares, and the setting to change;
 * * samples without a stack;
 * * with LIVE, the losses of the tables of live memory;
 * * the samples that the overhead budget left out.
 *
 * Losses below a thousandth of the samples are omitted. Returns false, with an empty TEXT, if there is
 * nothing to report. */
bool losses_text(const struct losses *losses, bool live, char *text, size_t size);

/* Write the losses as a JSON object; "null" if no recording reports them. */
void losses_json(FILE *out, const struct losses *losses);

#endif
