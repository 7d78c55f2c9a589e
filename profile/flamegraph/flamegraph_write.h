/* Writer of a flame graph as one HTML page without external resources. */
#ifndef PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H
#define PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/aggregate/profile.h"
#include "profile/aggregate/tree.h"

struct flamegraph {
	const struct profile *profile;
	const struct tree *tree; /* sorted tree of the profile, with threads */
	enum metric metric;
	bool by_total; /* the tree's numbers are totals */
	bool threads;  /* initially split by thread */
	bool reverse;  /* initially innermost frames first */
	/* Base of a comparison, whose samples are in the tree too; NULL: no comparison. */
	const struct profile *base;
	double min_share; /* frames with a smaller share of the total are omitted */
	const char *title;
};

/* Returns 0 or -ENOMEM. The caller checks FILE for write errors. */
int flamegraph_write(FILE *file, const struct flamegraph *graph);

#endif
