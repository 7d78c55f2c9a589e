/* Table of the threads that a chunk's events refer to, with their names. */
#include "engine/jfr/jfr_threads.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory/account.h"
#include "engine/jfr/jfr_encode.h"

/* Rows that are kept for the next chunk. */
#define KEPT_ROWS 1024

static uint32_t hash_tid(pid_t tid)
{
	return jfr_hash_end(jfr_hash_step(0, (uint32_t)tid));
}

static struct jfr_thread_row *threads_find(const struct jfr_threads *t, pid_t tid)
{
	uint32_t cursor, n = jfr_index_first(&t->index, hash_tid(tid), &cursor);

	while (n != JFR_INDEX_NONE && t->rows[n].tid != tid)
		n = jfr_index_next(&t->index, hash_tid(tid), &cursor);
	return n == JFR_INDEX_NONE ? NULL : &t->rows[n];
}

static struct jfr_thread_row *threads_find_or_add(struct jfr_threads *t, pid_t tid)
{
	struct jfr_thread_row *row = threads_find(t, tid);

	if (row || t->count == JFR_THREADS_MAX)
		return row;
	if (!memory_is_granted(MEMORY_STACK, sizeof(*t->rows)) ||
	    jfr_grow(&t->rows, &t->capacity, t->count + 1, JFR_THREADS_MAX, sizeof(*t->rows)))
		return NULL;
	if (jfr_index_add(&t->index, hash_tid(tid), t->count))
		return NULL;
	row = &t->rows[t->count++];
	*row = (struct jfr_thread_row){ .tid = tid };
	return row;
}

void jfr_threads_name(struct jfr_threads *t, pid_t tid, const char *name)
{
	struct jfr_thread_row *row = threads_find_or_add(t, tid);
	size_t length = jfr_string_length(name, JFR_THREAD_NAME_MAX - 1);

	if (!row)
		return; /* counted when an event refers to it */
	memcpy(row->name, name, length);
	row->name[length] = '\0';
}

void jfr_threads_use(struct jfr_threads *t, pid_t tid)
{
	struct jfr_thread_row *row = threads_find_or_add(t, tid);

	if (!row) {
		t->full++;
		return;
	}
	t->used += !row->used;
	row->used = true;
}

bool jfr_threads_named(const struct jfr_threads *t, pid_t tid)
{
	const struct jfr_thread_row *row = threads_find(t, tid);

	return row && row->name[0];
}

void jfr_threads_next_chunk(struct jfr_threads *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->rows[i].used = false;
	t->used = 0;
	t->full = 0;
}

void jfr_threads_reset(struct jfr_threads *t)
{
	if (t->capacity > KEPT_ROWS)
		jfr_threads_free(t);
	jfr_index_reset(&t->index);
	t->count = t->used = 0;
	t->full = 0;
}

void jfr_threads_free(struct jfr_threads *t)
{
	free(t->rows);
	jfr_index_free(&t->index);
	*t = (struct jfr_threads){ 0 };
}
