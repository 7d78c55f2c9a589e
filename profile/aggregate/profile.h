/* Profile: samples added up by stack, thread, metric and, on request, context and wait. The source of top,
 * collapsed, flamegraph and pprof output. */
#ifndef PROFILE_AGGREGATE_PROFILE_H
#define PROFILE_AGGREGATE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/aggregate/losses.h"
#include "profile/aggregate/query.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/wait.h"
#include "profile/basics/intern.h"

/* Interned by its bytes, so it has no padding. */
struct frame {
	uint32_t name;     /* in names: display name */
	uint32_t module;   /* in names: library or class; 0: none */
	uint32_t line;     /* 0: unknown, or not requested */
	uint32_t type;     /* enum jfr_frame_type */
	uint32_t category; /* enum frame_category */
	uint32_t caller;   /* frame that this one is inlined into, which follows it in every
			  * stack; 0: none, or the recording itself has that frame */

	/* Only with query.places. 0: unknown. */
	uint32_t file;     /* in names: source file */
	uint32_t build_id; /* in names: build-id of the library, in hex */
	uint32_t address;  /* link address in the library */
};

struct sample {
	uint32_t stack;  /* in stacks: frame IDs, leaf first; 0: no stack */
	uint32_t thread; /* in threads */
	uint32_t metric;
	uint32_t context; /* in names: labels of the thread's work, lines of "key=value"; 0: none */
	int64_t time_ms;  /* since 1970; 0 without query.times, or unknown */
	uint32_t wait;    /* in waits; 0: unknown, or not requested */
	double count;     /* samples, or objects if allocations are scaled */
	double total;     /* ns or bytes; 0 if unknown */
	/* Sampling variance of both: the sum of the squares of the single samples' weights, without
	 * the certain parts (mem_scale_variance). */
	double count_variance, total_variance;
};

/* Interned by its bytes. */
struct thread_key {
	uint32_t name;   /* in names; 0: unknown */
	uint32_t tid;    /* 0: the thread was renamed */
	uint32_t labels; /* in names: see labels.h; 0: none */
	uint32_t unused;
};

struct profile {
	struct intern names, frames, stacks, threads, waits;
	struct sample *samples;
	uint32_t count, capacity;
	uint32_t *slots;
	uint32_t slot_count;
	uint64_t chunks;          /* number of chunks read */
	uint64_t stack_bytes;     /* memory of the stacks */
	uint64_t stacks_cut;      /* stacks omitted because of query.stack_bytes_max */
	int64_t periods[METRICS]; /* longest sampling period in the metric's unit; 0: unknown */
	int64_t shortest_periods[METRICS];
	struct losses losses; /* losses of the chunks read */
	int64_t start_ns,
		end_ns;     /* time range of the chunks, within the query; start > end: none */
	bool frames_folded; /* native frames of script functions were omitted: SHOW_SCRIPT */
	bool out_of_memory;
};

/* An empty profile. */
#define PROFILE_INIT                                       \
	{                                                  \
		.start_ns = INT64_MAX, .end_ns = INT64_MIN \
	}

/* Read all of FEED with several threads, but only METRICS (a mask of 1 << enum metric). Returns 0,
 * -ENOMEM, or -EIO if some data could not be read, which was reported; the rest is then in PROFILE.
 * Release with profile_free() in any case. */
int profile_read(struct profile *profile, const struct query *query, struct feed *feed,
		 uint32_t metrics);

/* Extend PROFILE's time range. (For a chunk, call period_add_chunk().) */
void profile_extend_span(struct profile *profile, int64_t start_ns, int64_t end_ns);

/* True if samples of METRIC stand for different amounts, so that totals must be compared, not counts: memory, and CPU or
 * wall clock if recordings have different intervals, or the overhead budget has changed them. */
bool profile_needs_totals(const struct profile *profile, enum metric metric);

/* Update PROFILE's sampling periods from SETTINGS. */
void profile_update_periods(struct profile *profile, const struct settings *settings);

/* The same for one METRIC, from a PERIOD; 0: unknown. */
void profile_update_period(struct profile *profile, enum metric metric, int64_t period);

/* Add all of FROM to INTO. */
void profile_merge(struct profile *into, const struct profile *from);

/* Add one thread of FROM to INTO, even if it has no sample. Returns its ID in INTO. */
uint32_t profile_merge_thread(struct profile *into, const struct profile *from, uint32_t thread);

/* Add SAMPLE to the profile's sample with the same stack, thread, context, wait, metric and time. */
void profile_add_sample(struct profile *profile, const struct sample *sample);

/* The same for COUNT samples of equal weight. The variances of SAMPLE are set. */
void profile_add_equal(struct profile *profile, struct sample *sample);

/* The same without a context and a wait. */
static inline void profile_add(struct profile *profile, uint32_t stack, uint32_t thread,
			       uint32_t metric, double count, double total)
{
	struct sample sample = {
		.stack = stack, .thread = thread, .metric = metric, .count = count, .total = total
	};

	profile_add_equal(profile, &sample);
}

/* Multiply the weights of SAMPLE by FACTOR. */
void sample_scale(struct sample *sample, double factor);

/* Returns the effective sample size of WHOLE with VARIANCE: the number of samples of equal weight
 * with the same accuracy. Infinite: no sampling error. */
double profile_effective(double whole, double variance);

/* The same for all samples of METRIC, by their counts or totals. */
double profile_effective_of(const struct profile *profile, enum metric metric, bool by_total);

/* Returns the metric to show for WANTED: METRIC_ANY becomes the first metric of PROFILE. Java
 * objects replace native memory if PROFILE has no native memory. */
enum metric profile_choose_metric(const struct profile *profile, enum metric wanted);

/* Returns the mask of metrics to read for WANTED. */
uint32_t metric_mask(enum metric wanted);
bool metric_is_memory(enum metric metric);

const struct frame *profile_frame(const struct profile *profile, uint32_t id);
const char *profile_frame_name(const struct profile *profile, uint32_t id);

const struct wait *profile_wait(const struct profile *profile, uint32_t id);

/* Format THREAD as "[worker tid=12]", "[tid=12]" or "[NAME]". */
void profile_thread_name(const struct profile *profile, uint32_t thread, char *name, size_t size);

/* Write the names of STACK's frames as a JSON array, leaf first. */
void profile_stack_json(FILE *out, const struct profile *profile, uint32_t stack);

/* Compare threads by tid, then by name. Returns less than, equal to or greater than 0. The order
 * does not depend on which thread read which chunk. */
int profile_compare_threads(const struct profile *profile, uint32_t a, uint32_t b);

void profile_free(struct profile *profile);

/* Names of a metric and its units: "cpu", "samples", "nanoseconds". */
struct metric_text {
	const char *name, *count_unit, *total_unit;
};
extern const struct metric_text metric_texts[METRICS];

#endif
