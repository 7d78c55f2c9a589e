/* The threads that a chunk's events mention, and their names. */
#ifndef ENGINE_JFR_JFR_THREADS_H
#define ENGINE_JFR_JFR_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/jfr/jfr_index.h"
#include "engine/jfr/jfr_limits.h"

struct jfr_thread_row {
	pid_t tid;
	bool used;                      /* an event mentions it */
	char name[JFR_THREAD_NAME_MAX]; /* "": never told */
};

/* Zeroed is empty. */
struct jfr_threads {
	struct jfr_thread_row *rows;
	uint32_t count, capacity;
	struct jfr_index index;
	uint32_t used; /* rows that are */
	uint64_t full; /* mentions that found no room */
};

/* Name TID; the newest name counts, and a long one is cut. */
void jfr_threads_name(struct jfr_threads *t, pid_t tid, const char *name);
bool jfr_threads_named(const struct jfr_threads *t, pid_t tid);

/* An event mentions TID: it is then among those that are written. */
void jfr_threads_use(struct jfr_threads *t, pid_t tid);

/* Forget all threads. Memory beyond what a usual chunk needs is given back. */
void jfr_threads_reset(struct jfr_threads *t);
void jfr_threads_free(struct jfr_threads *t);

#endif
