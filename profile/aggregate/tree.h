/* Call tree of a profile, from the outermost frames inwards. The source of folded stacks and flame
 * graphs. */
#ifndef PROFILE_AGGREGATE_TREE_H
#define PROFILE_AGGREGATE_TREE_H

#include "profile/aggregate/profile.h"

struct node {
	uint32_t name;   /* in the profile's names */
	uint32_t module; /* in the profile's names; 0: none */
	uint32_t type; /* enum jfr_frame_type; Java's are all JFR_FRAME_JIT here, see node_type() */
	uint32_t category;            /* enum frame_category */
	uint32_t parent, child, next; /* indexes of nodes; 0: none, as the root is not a child */
	double self, total;
	double inlined, c1, interpreted; /* parts of total */
	double base_self, base_total;    /* weights in the base of a comparison */
};

struct tree {
	struct node *nodes; /* [0] is the root */
	uint32_t count, capacity;
	uint32_t *slots, slot_count;
	uint32_t depth;
	bool out_of_memory;
};

/* Add METRIC of PROFILE to TREE, which starts as {0}. With THREADS, the outermost frame is the
 * thread's name, which is added to the profile's names. Samples without a stack are omitted.
 * Returns 0 or -ENOMEM. */
int tree_add(struct tree *tree, struct profile *profile, enum metric metric, bool by_total,
	     bool threads);

/* Prepare TREE, which starts as {0}, for tree_add_stack(): create its root. Returns 0 or -ENOMEM. */
int tree_open(struct tree *tree);

/* Add WEIGHT to the stack of SAMPLE, a sample of FROM: PROFILE itself, or the base of a comparison.
 * Returns the node of its innermost frame. When out of memory, sets tree->out_of_memory. */
uint32_t tree_add_stack(struct tree *tree, struct profile *profile, const struct profile *from,
			const struct sample *sample, double weight);

/* Merge the children of each node whose totals are below LEAST into one child NAME. MERGED[n], an
 * array of tree->count elements, is set to the node that now has the weight of n. Returns 0 or
 * -ENOMEM. */
int tree_merge_small(struct tree *tree, uint32_t name, double least, uint32_t *merged);

/* Sort the children of each node by name. */
void tree_sort(struct tree *tree, const struct profile *profile);

/* Returns the type of NODE, whose frames can be of several types; same rule as async-profiler. */
enum jfr_frame_type node_type(const struct node *node);

void tree_free(struct tree *tree);

#endif
