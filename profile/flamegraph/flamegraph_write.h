/* Writer of a flame graph, or a heatmap with one, as one HTML page without external resources. */
#ifndef PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H
#define PROFILE_FLAMEGRAPH_FLAMEGRAPH_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/aggregate/profile.h"

struct page_stacks;

/* A part of the page above the flame graph. Its script starts the page from the member of meta that
 * WRITE_META writes, with a comma before it: see flamegraph.js. */
struct page_part {
	const char *style, *html, *script;
	uint32_t row_ms; /* wanted duration of rows; the graph's may be longer */
	void (*write_meta)(FILE *file, const struct page_part *part,
			   const struct page_stacks *stacks);
};

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

	/* With row_ms: another part instead of the heatmap. NULL: none. */
	const struct page_part *part;
};

/* Returns 0 or -ENOMEM. The caller checks FILE for write errors. */
int flamegraph_write(FILE *file, const struct flamegraph *graph);

#endif
