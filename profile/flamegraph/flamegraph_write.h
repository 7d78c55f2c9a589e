/* Writer of a flame graph, or a heatmap with one, as one HTML page without external resources. */
#ifndef PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H
#define PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/aggregate/profile.h"

struct flamegraph {
	struct profile *profile; /* the base's names are added to it */
	enum metric metric;
	bool by_total; /* weights are totals, not counts */
	bool threads;  /* initially split by thread */
	bool reverse;  /* initially innermost frames first */
	/* Base of a comparison; NULL: no comparison. */
	const struct profile *base;
	double min_share; /* frames with a smaller share of the total are merged */
	const char *title;

	/* A heatmap: the samples of the profile have times. 0: none. */
	uint32_t row_ms, column_ms;
};

/* Returns 0 or -ENOMEM. The caller checks FILE for write errors. */
int flamegraph_write(FILE *file, const struct flamegraph *graph);

#endif
