/* All samples of recordings, grouped by thread and metric, in the order of time. They are kept in a
 * temporary file, so the memory is bounded by the number of different stacks, threads and names. */
#ifndef PROFILE_TIMED_TIMED_STORE_H
#define PROFILE_TIMED_TIMED_STORE_H

#include "core/buf.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/profile.h"
#include "profile/timed/timed.h"

/* Further marks are counted only. */
#define TIMED_MARKS_MAX (1u << 20)

struct timed_store {
	struct profile profile; /* without samples */
	struct timed_sample *samples;
	uint64_t count;
	struct timed_group *groups; /* by process, thread and metric */
	uint32_t group_count;
	bool has_metrics;         /* groups of several metrics */
	struct timed_mark *marks; /* by time */
	size_t mark_count;
	uint64_t marks_cut;

	/* Private. */
	int fd;
	uint64_t capacity;
	struct buf mark_bytes;
	uint32_t *thread_marks; /* indexes in MARKS, by thread and time */
	uint32_t *mark_starts;  /* in thread_marks, by thread; of one thread more at the end */
};

/* Read FEED as timed_read() does. MAKE_FILE returns a descriptor of a new unnamed file, or -1 with
 * errno. Returns 0, -ENOMEM, or the -errno of the temporary file. Returns -EIO if some data could not
 * be read, which was reported: STORE then has the rest, and is usable. Release with
 * timed_store_free() in any case. */
int timed_store_read(struct timed_store *store, const struct query *query, struct feed *feed,
		     uint32_t metrics, int (*make_file)(void));
void timed_store_free(struct timed_store *store);

/* Indexes in MARKS of THREAD's marks, by time, and their COUNT. THREAD 0: marks of no thread. NULL after
 * a failed read. */
const uint32_t *timed_store_marks(const struct timed_store *store, uint32_t thread,
				  uint32_t *count);

/* Process of THREAD: its label "process", "NAME_PID", or "" if unknown. Copied to NAME. */
void timed_store_process(const struct timed_store *store, uint32_t thread, char *name, size_t size);

#endif
