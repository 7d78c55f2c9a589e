/* Self and total weight of each function of a profile. */
#ifndef PROFILE_AGGREGATE_FUNCTIONS_H
#define PROFILE_AGGREGATE_FUNCTIONS_H

#include "profile/aggregate/profile.h"

struct function {
	uint32_t name, module; /* in profile->names */
	uint32_t category;     /* enum frame_category */
	double self, total;
	double own; /* weight of the samples whose innermost function of category FRAME_OWN it is */
	uint32_t seen; /* last sample that was counted: a recursion counts once */
};

struct functions {
	struct function *
		list; /* heaviest first, by self weight, then by total; see functions_sort_by_total() */
	uint32_t count;
	double weight;
	double samples;   /* number of samples in `weight` */
	double effective; /* effective sample size, see profile_effective() */
};

/* Add up METRIC by count, or by total; THREAD 0: all threads. Functions without weight are left out. Samples without a
 * stack belong to a function without a name. Returns 0 (release with functions_free) or -ENOMEM. */
int functions_of(struct functions *functions, const struct profile *profile, enum metric metric,
		 bool by_total, uint32_t thread);

/* The same for the samples for which WANTED returns true. */
int functions_of_some(struct functions *functions, const struct profile *profile,
		      enum metric metric, bool by_total,
		      bool (*wanted)(const void *arg, const struct sample *sample),
		      const void *arg);

/* All functions of a profile, for several calls of functions_of_list(). */
struct function_table {
	uint32_t *numbers;     /* by frame ID: index in `list`, plus 1 */
	struct function *list; /* without weights between two calls */
	uint32_t *used;        /* indexes of the functions with samples */
	uint32_t used_count;
};

/* Returns 0 or -ENOMEM; release with function_table_free() in any case. No frame may be added
 * to PROFILE meanwhile. */
int function_table_open(struct function_table *table, const struct profile *profile);
void function_table_free(struct function_table *table);

/* The same for the samples with the numbers in SAMPLES, COUNT of them, of any metric and thread. The time depends on these
 * samples only. */
int functions_of_list(struct functions *functions, const struct profile *profile,
		      struct function_table *table, bool by_total, const uint32_t *samples,
		      uint32_t count);

/* Sort FUNCTIONS by total weight, then by self weight. */
void functions_sort_by_total(struct functions *functions, const struct profile *profile);

/* Sort FUNCTIONS by own weight, then by total weight. */
void functions_sort_by_own(struct functions *functions, const struct profile *profile);

void functions_free(struct functions *functions);

#endif
