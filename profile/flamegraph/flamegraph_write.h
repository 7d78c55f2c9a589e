/* A flame graph as one HTML page that needs nothing else. */
#ifndef PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H
#define PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/aggregate/profile.h"
#include "profile/aggregate/tree.h"

struct flamegraph {
	const struct profile *profile;
	const struct tree *tree; /* of it, with its threads, sorted */
	enum metric metric;
	bool by_total;    /* the tree's numbers are totals */
	bool threads;     /* shown at first */
	bool reverse;     /* the innermost frames first */
	bool base;        /* the tree has what it is compared with */
	double min_share; /* frames below this share of the whole are left out */
	const char *title;
};

/* Returns 0 or -ENOMEM; whether FILE has taken it is for the caller to see. */
int flamegraph_write(FILE *file, const struct flamegraph *graph);

#endif
