/* Where the chunks of recordings come from: the command's files (decoder/input/file_feed.h), or
 * whatever else has a recording in memory. Several threads may take chunks from one feed. */
#ifndef PROFILE_AGGREGATE_FEED_H
#define PROFILE_AGGREGATE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/jfr/settings.h"

struct feed;

struct feed_chunk {
	void *source;        /* the feed's own */
	const char *file;    /* its name, for messages */
	const char *labels;  /* see labels.h; may be NULL */
	const uint8_t *data; /* the whole file */
	bool in_memory;      /* it is no mapped file: pages that were read cannot be had again */
	struct jfr_header header;
	struct settings settings; /* as they stand at the start of the file */
};

/* Who has a feed fills these in. All but `restart` may be called by several threads at once. */
struct feed_calls {
	/* Begin with the first chunk again; ORDERED: files by the time of their first chunk. Returns
	 * 0 or -ENOMEM. To be called once before the first chunk is taken. */
	int (*restart)(struct feed *feed, bool ordered);

	/* The next chunk; false when there is none. To be given back. */
	bool (*next)(struct feed *feed, struct feed_chunk *chunk);
	void (*done)(struct feed *feed, struct feed_chunk *chunk);

	/* Tell somebody that CHUNK is damaged, and set `failed`. */
	void (*damage)(struct feed *feed, const struct feed_chunk *chunk,
		       const struct jfr_error *error);

	/* From the first start to the last end of all the files, in ns since 1970; reads all
	 * headers. False where there is no chunk at all. */
	bool (*span)(struct feed *feed, int64_t *start_ns, int64_t *end_ns);

	/* Whether there is so little that a second thread would be of no use. */
	bool (*is_small)(struct feed *feed);
};

struct feed {
	const struct feed_calls *calls;
	bool failed; /* something could not be read, which was told */
};

/* Threads that are worth having: JOBS, or as many as there are processors where that is 0, but
 * one for little input. At most FEED_JOBS_MAX. */
#define FEED_JOBS_MAX 64
unsigned feed_jobs(struct feed *feed, unsigned jobs);

/* Run WORK(feed, state) in JOBS threads, each with its own of STATES, until all have returned. */
void feed_run(struct feed *feed, unsigned jobs, void (*work)(struct feed *feed, void *state),
	      void *states, size_t state_size);

/* What has read all of a feed returns: -ENOMEM, or -EIO where some of it could not be read. */
int feed_result(const struct feed *feed, bool out_of_memory);

#endif
