/* Source of recordings' chunks: the command's files (decoder/input/file_feed.h), a recording in memory
 * (memory_feed.h), or a report (upload/push/report_profile.c). Several threads may take chunks from one
 * feed, unless is_small() returns true. */
#ifndef PROFILE_AGGREGATE_FEED_H
#define PROFILE_AGGREGATE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/jfr/settings.h"

struct feed;

struct feed_chunk {
	void *source;        /* for use by the feed */
	const char *file;    /* file name, for messages */
	const char *labels;  /* lines of labels.h; may be NULL */
	const uint8_t *data; /* the whole file */
	bool in_memory; /* DATA is malloc'd, not a mapped file: its pages must not be dropped after use */
	struct jfr_header header;
	struct settings settings; /* settings at the start of the chunk */
};

/* Implemented by each kind of feed. Several threads may call all functions at once, except `restart`,
 * and unless is_small() returns true. */
struct feed_calls {
	/* Continue at the first chunk. ORDERED: files in the order of the time of their first chunk.
	 * Returns 0 or -ENOMEM. Call it before each pass over the feed, while no chunk is taken. */
	int (*restart)(struct feed *feed, bool ordered);

	/* `next` takes the next chunk, or returns false if there is none; `done` releases the chunk. */
	bool (*next)(struct feed *feed, struct feed_chunk *chunk);
	void (*done)(struct feed *feed, struct feed_chunk *chunk);

	/* Report that CHUNK is damaged, and set `failed`. */
	void (*damage)(struct feed *feed, const struct feed_chunk *chunk,
		       const struct jfr_error *error);

	/* Get the first start and the last end of all files, in ns since 1970; reads all headers.
	 * Returns false if there is no chunk. */
	bool (*span)(struct feed *feed, int64_t *start_ns, int64_t *end_ns);

	/* Whether the input is too small to benefit from a second thread. */
	bool (*is_small)(struct feed *feed);
};

struct feed {
	const struct feed_calls *calls;
	bool failed; /* some data could not be read, and this was reported */
};

/* Returns the number of threads to use: JOBS, or the number of processors if JOBS is 0; 1 for small
 * input. At most FEED_JOBS_MAX. */
#define FEED_JOBS_MAX 64
unsigned feed_jobs(struct feed *feed, unsigned jobs);

/* Run WORK(feed, state) in JOBS threads, including the caller, each with its own element of STATES,
 * and wait until all have returned. A thread that cannot be created is skipped: WORK must take all
 * chunks in any number of threads. */
void feed_run(struct feed *feed, unsigned jobs, void (*work)(struct feed *feed, void *state),
	      void *states, size_t state_size);

/* Returns the result of reading FEED: 0, -ENOMEM if OUT_OF_MEMORY, or -EIO if some data could not
 * be read. */
int feed_result(const struct feed *feed, bool out_of_memory);

#endif
