/* Summary of recordings: events by type, threads, losses, engines. */
#ifndef PROFILE_AGGREGATE_SUMMARY_H
#define PROFILE_AGGREGATE_SUMMARY_H

#include "profile/aggregate/costs.h"
#include "profile/aggregate/query.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/profile.h"
#include "profile/basics/spark.h"

struct event_count {
	const char *name;
	uint64_t events, bytes;
};

/* Causes of losses: a field of asprof.Losses, and its description. */
#define SUMMARY_CAUSES 11
extern const struct loss_cause {
	const char *field, *text;
} summary_causes[SUMMARY_CAUSES];

struct summary {
	const struct query *query;
	struct profile profile;    /* threads, span and names */
	struct event_count *types; /* by ID of the name; finally sorted */
	uint32_t room;
	uint64_t *threads; /* events by thread ID */
	uint32_t thread_capacity;
	bool want_metrics; /* fill `metrics`; set before summary_read() */
	uint64_t metrics[METRICS];
	bool want_sparks;     /* fill `sparks`; likewise */
	struct sparks sparks; /* samples of CPU time */
	struct period period;
	uint64_t chunks, bytes, lost[SUMMARY_CAUSES];
	bool has_losses;
	struct costs costs;
	bool java_unnamed; /* a JVM was loaded, and the engine does not know names of Java methods */
	struct intern engines;
	struct settings settings; /* the latest settings, */
	int64_t settings_ns;      /* and the start of their chunk */
	bool out_of_memory;
};

/* Read all of FEED that matches QUERY, with several threads. SUMMARY starts as {0}. The types are
 * sorted by their number of events, most frequent first. Returns 0, -ENOMEM, or -EIO if some data
 * could not be read, which was reported. Release with summary_free() in any case. */
int summary_read(struct summary *summary, const struct query *query, struct feed *feed);
void summary_free(struct summary *summary);

#endif
