/* States of threads by time. */
#include "profile/aggregate/wait_looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/jfr/jfr_types.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/wait.h"
#include "profile/basics/array.h"
#include "profile/basics/text.h"
#include "profile/jfr/jfr_read.h"

#define LINES_MAX 8192

struct wait_look_row {
	uint32_t file, tid;
	int64_t from_ns, to_ns;
	uint32_t text;
	bool waits;
};

/* Returns the number of the lines of EVENT's wait; 0 if it has none, or when out of memory. */
static uint32_t read_text(struct wait_looks *looks, struct jfr_chunk *chunk,
			  const struct jfr_type *type, const struct jfr_event *event)
{
	struct buf lines = BUF_INIT(LINES_MAX);
	struct jfr_value value, field;
	uint32_t text = 0;

	if (jfr_constant_get(chunk, type, (uint64_t)event->slot[JFR_WAIT], &value) &&
	    jfr_value_get_field(chunk, &value, "description", &field) &&
	    jfr_value_append_string(chunk, &field, &lines) && lines.length)
		text = intern(&looks->texts, lines.data, lines.length);
	buf_free(&lines);
	return text;
}

static int add_row(struct wait_looks *looks, struct wait_look_row row)
{
	const char *state = text_find_line(intern_text(&looks->texts, row.text), "state", true);
	const char *waiting = jfr_wait_states[WAIT_WAITING];

	if (array_reserve(&looks->rows, &looks->capacity, (uint32_t)looks->count,
			  sizeof(*looks->rows)))
		return -ENOMEM;
	row.waits = state && !strncmp(state, waiting, strlen(waiting));
	looks->rows[looks->count++] = row;
	return 0;
}

static int read_events(struct wait_looks *looks, struct jfr_chunk *chunk, uint32_t file)
{
	const struct jfr_type *type = jfr_type_by_name(chunk, "asprof.types.Wait");
	double factor = ns_per_tick(&chunk->header);
	struct jfr_event event;
	struct jfr_scan scan;
	int64_t tid;
	int err = 0;

	jfr_scan_start(&scan, chunk, JFR_MASK(JFR_LOGGED_STATE));
	while (type && !err && jfr_scan_next(&scan, &event)) {
		struct wait_look_row row = { .file = file,
					     .text = read_text(looks, chunk, type, &event) };

		if (!row.text || !jfr_event_thread_id(chunk, &event, "eventThread", &tid))
			continue;
		row.tid = (uint32_t)tid;
		row.from_ns = ticks_to_ns_by(&chunk->header, factor, event.slot[JFR_TIME]);
		row.to_ns = ticks_to_ns_by(
			&chunk->header, factor,
			jfr_ticks_sum(event.slot[JFR_TIME], event.slot[JFR_DURATION]));
		err = add_row(looks, row);
	}
	return err;
}

/* Damage is reported when the samples are read. */
static int read_chunk(struct wait_looks *looks, struct feed_chunk *from)
{
	struct jfr_chunk chunk;
	uint32_t file;
	int err;

	if (from->header.duration_ns) /* it has samples */
		return 0;
	err = jfr_chunk_open(&chunk, from->data, &from->header);
	if (err)
		return err == -EBADMSG ? 0 : err;
	chunk.is_mapped_file = !from->in_memory;
	file = intern_string(&looks->files, from->file ? from->file : "");
	err = file ? read_events(looks, &chunk, file) : -ENOMEM;
	jfr_chunk_close(&chunk);
	return err;
}

static int compare_rows(const void *a, const void *b)
{
	const struct wait_look_row *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

int wait_looks_read(struct wait_looks *looks, const struct query *query, struct feed *feed)
{
	struct feed_chunk from;
	int err = 0;

	*looks = (struct wait_looks){ 0 };
	if (!query->waits && !query->states && !query->causes)
		return 0;
	if (feed->calls->restart(feed, false))
		return -ENOMEM;
	while (!err && feed->calls->next(feed, &from)) {
		err = read_chunk(looks, &from);
		feed->calls->done(feed, &from);
	}
	if (looks->count)
		qsort(looks->rows, looks->count, sizeof(*looks->rows), compare_rows);
	return err;
}

void wait_looks_free(struct wait_looks *looks)
{
	intern_free(&looks->files);
	intern_free(&looks->texts);
	free(looks->rows);
	*looks = (struct wait_looks){ 0 };
}

uint32_t wait_looks_file(const struct wait_looks *looks, const char *file)
{
	return intern_find(&looks->files, file ? file : "", file ? strlen(file) : 0);
}

/* Time from ROW to TIME_NS. */
static int64_t distance(const struct wait_look_row *row, int64_t time_ns)
{
	if (time_ns < row->from_ns)
		return row->from_ns - time_ns;
	return time_ns > row->to_ns ? time_ns - row->to_ns : 0;
}

static bool is_of(const struct wait_look_row *row, uint32_t file, uint32_t tid)
{
	return row->file == file && row->tid == tid;
}

uint32_t wait_looks_find(const struct wait_looks *looks, uint32_t file, uint32_t tid,
			 int64_t time_ns, int64_t within_ns, bool waits)
{
	const struct wait_look_row wanted = { .file = file, .tid = tid, .from_ns = time_ns };
	size_t low = 0, high = looks->count, at;
	int64_t nearest = within_ns;
	uint32_t text = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_rows(&looks->rows[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (at = low; at && is_of(&looks->rows[at - 1], file, tid) && !text; at--)
		if (distance(&looks->rows[at - 1], time_ns) > within_ns)
			break;
		else if (looks->rows[at - 1].waits == waits) {
			nearest = distance(&looks->rows[at - 1], time_ns);
			text = looks->rows[at - 1].text;
		}
	for (at = low; at < looks->count && is_of(&looks->rows[at], file, tid); at++)
		if (distance(&looks->rows[at], time_ns) > nearest)
			break;
		else if (looks->rows[at].waits == waits)
			return looks->rows[at].text;
	return text;
}
