/* Where recordings come from: files, zips (told by content), directories, standard input. A feed
 * opens one after another, maps it, and hands out its chunks; several threads may take from it.
 * What cannot be read is said on stderr, with the offset, and passed over. */
#ifndef PROFILE_AGGREGATE_FEED_H
#define PROFILE_AGGREGATE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/commands/args.h"
#include "profile/jfr/settings.h"

struct feed;
struct source;

struct feed_chunk {
	struct source *source;
	const char *file;    /* its name, for messages */
	const char *labels;  /* see labels.h; may be NULL */
	const uint8_t *data; /* the whole file */
	struct jfr_header header;
	struct settings settings; /* as they stand at the start of the file */
};

/* Of what PATHS name, those that ARGS want (NULL: all). Both stay the caller's for the feed's life.
 * ORDERED: files by the time of their first chunk. Returns 0 (release with feed_close) or -ENOMEM. */
int feed_open(struct feed **out, const struct args *args, char **paths, int count, bool ordered);

/* The next chunk; false when there is none. Give it back with feed_done(). Thread-safe. */
bool feed_next(struct feed *feed, struct feed_chunk *chunk);
void feed_done(struct feed *feed, struct feed_chunk *chunk);

/* Say that CHUNK is damaged, and remember it for feed_failed(). Thread-safe. */
void feed_damage(struct feed *feed, const struct feed_chunk *chunk, const struct jfr_error *error);

/* Something could not be read. */
bool feed_failed(const struct feed *feed);

/* A recording that was left out: of the first few, its labels, each followed by a space; NULL when
 * there is none of that number. Once all is read. */
const char *feed_left_out(const struct feed *feed, unsigned number);

/* From the first start to the last end of all the files, in ns since 1970; reads all headers.
 * False where there is no chunk at all. */
bool feed_span(struct feed *feed, int64_t *start_ns, int64_t *end_ns);

/* Threads that are worth having: JOBS, or as many as there are processors where that is 0, but
 * one for little input. At most FEED_JOBS_MAX. */
#define FEED_JOBS_MAX 64
unsigned feed_jobs(const struct feed *feed, unsigned jobs);

/* Run WORK(feed, state) in JOBS threads, each with its own of STATES, until all have returned. */
void feed_run(struct feed *feed, unsigned jobs, void (*work)(struct feed *feed, void *state),
	      void *states, size_t state_size);

void feed_close(struct feed *feed);

#endif
