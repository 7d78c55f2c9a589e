/* Wall-clock samples grouped by what their threads did or waited for, and the owners of the locks
 * of a group. */
#ifndef PROFILE_WAITS_WAIT_GROUPS_H
#define PROFILE_WAITS_WAIT_GROUPS_H

#include "profile/aggregate/functions.h"
#include "profile/aggregate/profile.h"

enum wait_by {
	WAIT_BY_CAUSE, /* also the states of threads that do not wait */
	WAIT_BY_PEER,
	WAIT_BY_FILE,
	WAIT_BY_LOCK,
	WAIT_BY_HOLDER, /* the owner's function */
	WAIT_BY_THREAD,
	WAIT_BYS,
};

/* "cause", "peer", ... */
extern const char *const wait_by_names[WAIT_BYS];

struct wait_group {
	uint32_t id;           /* in wait_groups.names */
	enum wait_state state; /* of one of its samples */
	enum wait_cause cause;
	double weight, samples;
	double states[WAIT_STATES]; /* parts of the weight */
	uint32_t threads;
};

/* Threads of a profile by their IDs. */
struct thread_index {
	struct intern keys;
	uint32_t *threads; /* by key */
};

struct wait_groups {
	const struct profile *profile;
	enum wait_by by;
	bool by_total;           /* weights are nanoseconds, not numbers of samples */
	struct intern names;     /* display names of the groups, by ID */
	struct wait_group *list; /* heaviest first; idle event loops last */
	uint32_t count, capacity;
	uint32_t *ids;     /* group of each sample; 0: none */
	uint32_t *samples; /* numbers of the samples, group by group */
	uint32_t *starts;  /* in `samples`, by group ID; of one group more at the end */
	struct function_table *table;
	struct thread_index threads_by_id;
	double weight;              /* of all wall-clock samples */
	double states[WAIT_STATES]; /* parts of the weight */
	double derived;             /* part of the weight whose waits are derived */
	uint32_t threads;
};

/* Group the wall-clock samples of PROFILE, which was read with WAIT_PARTS_OWNER. Only samples of STATES
 * and CAUSES are in groups (masks of wait_matches()). Returns 0 or -ENOMEM; release with
 * wait_groups_free() in any case. */
int wait_groups_make(struct wait_groups *groups, const struct profile *profile, enum wait_by by,
		     uint32_t states, uint32_t causes);
void wait_groups_free(struct wait_groups *groups);

static inline double wait_groups_weight(const struct wait_groups *groups, const struct sample *s)
{
	return groups->by_total ? s->total : s->count;
}

/* Returns the numbers of GROUP's samples, *COUNT of them. */
static inline const uint32_t *wait_group_samples(const struct wait_groups *groups, uint32_t group,
						 uint32_t *count)
{
	*count = groups->starts[group + 1] - groups->starts[group];
	return groups->samples + groups->starts[group];
}

/* Set FUNCTIONS to the own functions of GROUP's samples: a sample belongs to the innermost one
 * (`own`). The heaviest comes first. Returns 0 (release with functions_free()) or -ENOMEM. */
int wait_group_functions(struct functions *functions, const struct wait_groups *groups,
			 uint32_t group);

/* Owner of a lock during waits. */
struct wait_owner {
	uint32_t frame;  /* the owner's function: its innermost own one; 0: unknown */
	uint32_t on;     /* in the profile's names: the lock */
	uint32_t sample; /* index of the heaviest sample */
	double weight, heaviest;
};

/* Set *LIST to the owners of the locks of GROUP, heaviest first, *COUNT of them, and *UNKNOWN to
 * the weight of recorded waits for a lock, semaphore or GIL with an unknown owner. Returns 0 (release LIST
 * with free()) or -ENOMEM. */
int wait_owners_list(const struct wait_groups *groups, uint32_t group, struct wait_owner **list,
		     uint32_t *count, double *unknown);

/* Returns the frame of STACK's innermost own function, or of its innermost function; 0 if it is
 * empty. */
uint32_t wait_own_frame(const struct profile *profile, uint32_t stack);

/* Index the threads of PROFILE. Returns 0 or -ENOMEM; release with thread_index_free() in any case. */
int thread_index_open(struct thread_index *index, const struct profile *profile);
void thread_index_free(struct thread_index *index);

/* Returns the profile's thread with the thread ID TID in the recordings of thread NEAR; 0 if it has
 * no sample. */
uint32_t thread_index_find(const struct thread_index *index, const struct profile *profile,
			   uint32_t near, uint32_t tid);

/* Returns the part of ON, "lock 0x7f10 log_mutex", that names the lock: its symbol, or its
 * address. */
const char *wait_lock_name(const char *on);

#endif
