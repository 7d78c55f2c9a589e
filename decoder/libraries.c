/* The libraries that the recordings say were mapped. */
#include "decoder/libraries.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/feed.h"

static uint32_t intern_field(struct libraries *l, const struct jfr_chunk *chunk,
			     const struct jfr_event *event, const char *field, struct buf *scratch)
{
	struct jfr_value value;

	buf_reset(scratch);
	if (!jfr_event_get(chunk, event, field, &value) || !jfr_string(chunk, &value, scratch) ||
	    !scratch->length)
		return 0;
	return intern(&l->names, scratch->data, scratch->length);
}

static void add(struct libraries *l, const struct library *one)
{
	size_t room = l->room ? l->room * 2 : 32;
	struct library *list;

	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].path == one->path && l->list[i].base == one->base)
			return;
	if (l->count == l->room) {
		list = realloc(l->list, room * sizeof(*list));
		if (!list)
			return;
		l->list = list;
		l->room = room;
	}
	l->list[l->count++] = *one;
}

static void read_chunk(struct libraries *l, const struct feed_chunk *from, struct buf *scratch)
{
	struct jfr_chunk chunk;
	struct jfr_event event;
	struct jfr_scan scan;
	struct library one;

	if (jfr_chunk_open(&chunk, from->data, &from->header))
		return;
	jfr_scan(&scan, &chunk, JFR_MASK(JFR_LIBRARY));
	while (jfr_next(&scan, &event)) {
		one = (struct library){
			.path = intern_field(l, &chunk, &event, "name", scratch),
			.build_id = intern_field(l, &chunk, &event, "buildId", scratch),
			.base = (uint64_t)event.slot[JFR_BASE],
			.top = (uint64_t)event.slot[JFR_TOP],
		};
		if (one.path)
			add(l, &one);
	}
	jfr_chunk_close(&chunk);
}

void libraries_read(struct libraries *l, const struct args *args)
{
	struct buf scratch = BUF_INIT(65536);
	struct feed *feed = NULL;
	struct feed_chunk from;

	if (feed_open(&feed, args->files, args->file_count, false))
		return;
	feed_quiet(feed);
	while (feed_next(feed, &from)) {
		read_chunk(l, &from, &scratch);
		feed_done(feed, &from);
	}
	feed_close(feed);
	buf_free(&scratch);
}

const struct library *libraries_find(const struct libraries *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *path = intern_text(&l->names, l->list[i].path);
		const char *slash = strrchr(path, '/');

		if (!strcmp(path, name) || (slash && !strcmp(slash + 1, name)))
			return &l->list[i];
	}
	return NULL;
}

void libraries_free(struct libraries *l)
{
	intern_free(&l->names);
	free(l->list);
}
