/* Sum of the agent's costs that recordings report in asprof.Cost events. */
#ifndef PROFILE_AGGREGATE_COSTS_H
#define PROFILE_AGGREGATE_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/jfr/jfr_read.h"

/* In the order of the display. INTERPRETERS is a part of the kinds before it; AGENT is the rest of the agent's work. */
enum costs_kind {
	COSTS_CPU,
	COSTS_WALL,
	COSTS_MEMORY,
	COSTS_STALLS,
	COSTS_LOCKS,
	COSTS_INTERPRETERS,
	COSTS_AGENT,
	COSTS_KINDS,
};

extern const char *const costs_names[COSTS_KINDS];

struct costs {
	struct {
		double samples, cpu_ns;
		double sampled_ns, kept_ns; /* time, and time multiplied by the kept share */
	} kinds[COSTS_KINDS];
	double program_ns, elapsed_ns; /* CPU time of the program without the agent; time */
	bool is_known;                 /* there was an asprof.Cost event */
};

/* Add EVENT, a JFR_COST of CHUNK. */
void costs_read(struct costs *costs, const struct jfr_chunk *chunk, const struct jfr_event *event);
void costs_add(struct costs *into, const struct costs *from);

/* A kind of which more is kept was reduced for a moment at most. */
#define COSTS_KEPT_MIN 0.95

/* The share of the samples of KIND that the overhead budget kept, 0 to 1; 1 if it is not known. */
double costs_kept(const struct costs *costs, enum costs_kind kind);

/* CPU time of all kinds and of the agent. */
double costs_sum(const struct costs *costs);

/* Write to TEXT which kinds of samples the budget reduced. Returns false, with an empty TEXT, if there is none. */
bool costs_text(const struct costs *costs, char *text, size_t size);

#endif
