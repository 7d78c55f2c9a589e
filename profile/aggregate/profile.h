/* Samples added up by stack, thread, metric and, where that is asked for, by what the thread worked on: what top, collapsed, flamegraph and pprof are
 * printed from. */
#ifndef PROFILE_AGGREGATE_PROFILE_H
#define PROFILE_AGGREGATE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/aggregate/query.h"
#include "profile/aggregate/feed.h"
#include "profile/basics/intern.h"

/* Interned by its bytes, so it has no padding. */
struct frame {
	uint32_t name;   /* in names: as it is shown */
	uint32_t module; /* in names: the library, or the class; 0: none */
	uint32_t line;   /* 0: unknown, or not asked for */
	uint32_t type;   /* enum jfr_frame_type */
	uint32_t caller; /* the frame that it is inlined into, which is next in every stack that
			  * has it; 0: none, or told by the recording itself */

	/* With query.places; else 0, as where they are unknown. */
	uint32_t file;     /* in names: its source */
	uint32_t build_id; /* in names: of the library, in hex */
	uint32_t address;  /* in the library, as it was linked */
};

struct sample {
	uint32_t stack;  /* in stacks: frame numbers, leaf first; 0: no stack was taken */
	uint32_t thread; /* in threads */
	uint32_t metric;
	uint32_t
		context; /* in names: what the thread worked on, as lines of "key=value"; 0: not told */
	double count; /* samples, or objects where allocations are scaled */
	double total; /* ns or bytes; 0 where they are not known */
};

/* Interned by its bytes. */
struct thread_key {
	uint32_t name;   /* in names; 0: unknown */
	uint32_t tid;    /* 0 for one that was renamed */
	uint32_t labels; /* in names: see labels.h; 0: none */
	uint32_t unused;
};

struct profile {
	struct intern names, frames, stacks, threads;
	struct sample *samples;
	uint32_t count, room;
	uint32_t *slots;
	uint32_t slot_count;
	uint64_t chunks;          /* read */
	uint64_t stack_bytes;     /* that the stacks take */
	uint64_t stacks_cut;      /* left out for query.stack_bytes_max */
	int64_t periods[METRICS]; /* between two samples, in the metric's unit; 0: not known */
	int64_t start_ns, end_ns; /* of them, as far as it was asked for; start > end: none */
	bool out_of_memory;
};

/* Start with an empty one. */
#define PROFILE_INIT                                       \
	{                                                  \
		.start_ns = INT64_MAX, .end_ns = INT64_MIN \
	}

/* Read all of FEED with several threads, METRICS (a mask of 1 << enum metric) only. Returns 0, -ENOMEM,
 * or -EIO when something could not be read, which was told: what was read is in PROFILE all the
 * same. Free it with profile_free(). */
int profile_read(struct profile *profile, const struct query *query, struct feed *feed,
		 uint32_t metrics);

/* What has been read into PROFILE is from that time. (Of a chunk: period_add_chunk().) */
void profile_extend_span(struct profile *profile, int64_t start_ns, int64_t end_ns);

/* What SETTINGS say of the periods; the longest of several stays. */
void profile_update_periods(struct profile *profile, const struct settings *settings);

/* Put all of FROM into INTO. */
void profile_merge(struct profile *into, const struct profile *from);

/* Likewise one thread, even if it has no sample. Returns its number in INTO. */
uint32_t profile_merge_thread(struct profile *into, const struct profile *from, uint32_t thread);

/* Add COUNT and TOTAL to the sample of that stack, thread, context and metric. */
void profile_add_with_context(struct profile *profile, uint32_t stack, uint32_t thread,
			      uint32_t context, uint32_t metric, double count, double total);

/* The same without a context. */
static inline void profile_add(struct profile *profile, uint32_t stack, uint32_t thread,
			       uint32_t metric, double count, double total)
{
	profile_add_with_context(profile, stack, thread, 0, metric, count, total);
}

/* What METRIC_ANY means for this profile; also METRIC_OBJECT for allocations where there is
 * nothing else. */
enum metric profile_choose_metric(const struct profile *profile, enum metric wanted);

/* The metrics to read for WANTED, as a mask. */
uint32_t metric_mask(enum metric wanted);
bool metric_is_memory(enum metric metric);

const struct frame *profile_frame(const struct profile *profile, uint32_t id);
const char *profile_frame_name(const struct profile *profile, uint32_t id);

/* "[worker tid=12]", "[tid=12]" or "[NAME]". */
void profile_thread_name(const struct profile *profile, uint32_t thread, char *name, size_t size);

/* The names of STACK's frames as a JSON array, leaf first. */
void profile_stack_json(FILE *out, const struct profile *profile, uint32_t stack);

/* By tid, then by name; less than, equal to or greater than 0. Does not hang on who read what. */
int profile_compare_threads(const struct profile *profile, uint32_t a, uint32_t b);

void profile_free(struct profile *profile);

/* Of METRIC: "cpu", "samples", "nanoseconds". */
struct metric_text {
	const char *name, *count_unit, *total_unit;
};
extern const struct metric_text metric_texts[METRICS];

#endif
