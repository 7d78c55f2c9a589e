/* What is in recordings, added up: events by type, threads, losses, engines. */
#ifndef PROFILE_AGGREGATE_SUMMARY_H
#define PROFILE_AGGREGATE_SUMMARY_H

#include "profile/aggregate/query.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/profile.h"

struct event_count {
	const char *name;
	uint64_t events, bytes;
};

/* What may be lost: a field of asprof.Losses, and what to call it. */
#define SUMMARY_CAUSES 9
extern const struct loss_cause {
	const char *field, *text;
} summary_causes[SUMMARY_CAUSES];

struct summary {
	const struct query *query;
	struct profile profile;    /* threads, span and names */
	struct event_count *types; /* by number of the name; sorted in the end */
	uint32_t room;
	uint64_t *threads; /* events by number of the thread */
	uint32_t thread_room;
	bool want_metrics; /* set it before, where they are wanted */
	uint64_t metrics[METRICS];
	struct period period;
	uint64_t chunks, bytes, lost[SUMMARY_CAUSES];
	bool has_losses;
	bool java_unnamed; /* a Java machine was there, and the engine does not name its functions */
	struct intern engines;
	struct settings settings; /* those that were last in force, and since when */
	int64_t settings_ns;
	bool out_of_memory;
};

/* Read all of FEED that QUERY asks for, with several threads. SUMMARY starts as {0}. The types with
 * events come first, the most frequent of them leading. Returns 0, -ENOMEM, or -EIO when something
 * could not be read, which was told; release with summary_free() either way. */
int summary_read(struct summary *summary, const struct query *query, struct feed *feed);
void summary_free(struct summary *summary);

#endif
