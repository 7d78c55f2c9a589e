/* A profile as data of a page: strings once, frames and stacks as numbers, and the samples of each
 * stack by thread, labels and time. stacks.js decodes it (class Stacks).
 *
 * Stacks share their outer frames: they are a tree, without threads. Labels are those of samples and
 * recordings; traces and spans are omitted, as there are too many. */
#ifndef PROFILE_PAGE_PAGE_STACKS_H
#define PROFILE_PAGE_PAGE_STACKS_H

#include <stdbool.h>

#include "profile/aggregate/profile.h"
#include "profile/aggregate/tree.h"
#include "profile/page/page_data.h"

/* Limits of a page. Beyond them, the smallest frames are merged, and rows of time are longer. */
#define PAGE_NODES_MAX   3000000
#define PAGE_SAMPLES_MAX 4000000
#define PAGE_ROWS_MAX    8000000

struct page_stacks {
	struct tree tree;
	struct intern threads;          /* display names */
	struct intern labels;           /* lines of "key=value" */
	struct page_sample *samples[2]; /* of the profile, and of the base of a comparison */
	uint32_t counts[2], capacities[2];
	int64_t start_ms;    /* start of row 0; 0: samples have no time */
	uint32_t row_ms;     /* duration of a row of time */
	double least;        /* frames with a smaller total are merged */
	uint32_t rows;       /* of the last sample, + 1 */
	uint32_t small_name; /* name of merged frames, in the profile's names */
	uint32_t *numbers;   /* number in the page by node of the tree */
	bool out_of_memory;
};

/* Add METRIC of FROM, which is PROFILE or (IS_BASE) another profile, to STACKS, which starts as {0}.
 * Names and modules are added to PROFILE's names. Returns 0 or -ENOMEM. */
int page_stacks_add(struct page_stacks *stacks, struct profile *profile, const struct profile *from,
		    enum metric metric, bool by_total, bool is_base);

/* Merge frames below MIN_SHARE, and number stacks. With ROW_MS, samples are added up by rows of that
 * duration, which begin at the first sample; otherwise, ROW_MS is 0. Call it once, after all
 * samples. Returns 0 or -ENOMEM. */
int page_stacks_finish(struct page_stacks *stacks, struct profile *profile, double min_share,
		       uint32_t row_ms);

/* Write the stacks. DATA may have more after them. Returns 0 or -ENOMEM. */
int page_stacks_write(struct page_data *data, const struct page_stacks *stacks,
		      const struct profile *profile);

/* Format a line that names merged frames and longer rows; "" without any. */
void page_stacks_notice(const struct page_stacks *stacks, uint32_t wanted_row_ms, char *text,
			size_t size);

void page_stacks_free(struct page_stacks *stacks);

#endif
