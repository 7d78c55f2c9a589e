/* Self and total weight by function. */
#ifndef PROFILE_AGGREGATE_FUNCTIONS_H
#define PROFILE_AGGREGATE_FUNCTIONS_H

#include "profile/aggregate/profile.h"

struct function {
	uint32_t name, module; /* in profile->names */
	double self, total;
	uint32_t seen; /* the sample that was counted last: a recursion counts once */
};

struct functions {
	struct function *list; /* heaviest first, by self, then by total */
	uint32_t count;
	double weight;
	double samples; /* what was added up, in samples */
};

/* Add up METRIC by count, or by total; THREAD 0 is all of them. Returns 0 or -ENOMEM. */
int functions_of(struct functions *functions, const struct profile *profile, enum metric metric,
		 bool by_total, uint32_t thread);

/* The same of those samples that are WANTED. */
int functions_of_some(struct functions *functions, const struct profile *profile,
		      enum metric metric, bool by_total,
		      bool (*wanted)(const void *arg, const struct sample *sample),
		      const void *arg);
void functions_free(struct functions *functions);

#endif
