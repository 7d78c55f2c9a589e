/* Table of the threads that a chunk's events refer to, with their names. */
#ifndef ENGINE_JFR_JFR_THREADS_H
#define ENGINE_JFR_JFR_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/jfr/jfr_index.h"
#include "engine/jfr/jfr_limits.h"

struct jfr_thread_row {
	pid_t tid;
	bool used;                      /* an event refers to it */
	char name[JFR_THREAD_NAME_MAX]; /* "": no name is known */
};

/* A zeroed table is empty. */
struct jfr_threads {
	struct jfr_thread_row *rows;
	uint32_t count, capacity;
	struct jfr_index index;
	uint32_t used; /* number of used rows */
	uint64_t full; /* number of references without room */
};

/* Set the name of TID, which replaces an older one; a long name is cut. */
void jfr_threads_name(struct jfr_threads *t, pid_t tid, const char *name);
bool jfr_threads_named(const struct jfr_threads *t, pid_t tid);

/* Mark TID as used by an event, so that it is written to the pool. */
void jfr_threads_use(struct jfr_threads *t, pid_t tid);

/* Mark all threads as unused after the end of a chunk. Names are kept. */
void jfr_threads_next_chunk(struct jfr_threads *t);

/* Remove all threads. Frees memory beyond the needs of a usual chunk. */
void jfr_threads_reset(struct jfr_threads *t);
void jfr_threads_free(struct jfr_threads *t);

#endif
