/* Stacks as a tree from the outermost frame inwards: what folded stacks and flame graphs are
 * printed from. */
#ifndef PROFILE_AGGREGATE_TREE_H
#define PROFILE_AGGREGATE_TREE_H

#include "profile/aggregate/profile.h"

struct node {
	uint32_t name;   /* in the profile's names */
	uint32_t module; /* likewise, 0: none */
	uint32_t type; /* enum jfr_frame_type; Java's are all JFR_FRAME_JIT here, see node_type() */
	uint32_t parent, child, next; /* nodes; 0: none (the root is nobody's child) */
	double self, total;
	double inlined, c1, interpreted; /* parts of total */
	double base_self, base_total;    /* of the profile that is compared with */
};

struct tree {
	struct node *nodes; /* [0] is the root */
	uint32_t count, room;
	uint32_t *slots, slot_count;
	uint32_t depth;
	bool out_of_memory;
};

/* Add METRIC of PROFILE to TREE, which starts as {0}; with THREADS the outermost frame is the
 * thread's name, which is put into the profile's names. Samples without a stack are left out. */
int tree_add(struct tree *tree, struct profile *profile, enum metric metric, bool by_total,
	     bool threads);

/* Add what is compared with; its names are put into PROFILE's. */
int tree_add_base(struct tree *tree, struct profile *profile, const struct profile *base,
		  enum metric metric, bool by_total, bool threads);

/* Put the children of every node in the order of their names. */
void tree_sort(struct tree *tree, const struct profile *profile);

/* How a node counts that several kinds of frames share: as async-profiler decides it. */
enum jfr_frame_type node_type(const struct node *node);

void tree_free(struct tree *tree);

#endif
