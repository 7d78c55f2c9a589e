/* Libraries that were mapped, from the recordings. */
#include "profile/aggregate/libraries.h"

#include <string.h>

static uint32_t intern_field(struct libraries *l, const struct jfr_chunk *chunk,
			     const struct jfr_event *event, const char *field, struct buf *scratch)
{
	struct jfr_value value;

	buf_reset(scratch);
	if (!jfr_event_get_field(chunk, event, field, &value) ||
	    !jfr_value_append_string(chunk, &value, scratch) || !scratch->length)
		return 0;
	return intern(&l->names, scratch->data, scratch->length);
}

static void libraries_read_events(struct libraries *l, struct jfr_chunk *chunk, struct buf *scratch)
{
	struct jfr_event event;
	struct jfr_scan scan;
	struct library one;

	jfr_scan_start(&scan, chunk, JFR_MASK(JFR_LIBRARY));
	while (jfr_scan_next(&scan, &event)) {
		one = (struct library){
			.path = intern_field(l, chunk, &event, "name", scratch),
			.build_id = intern_field(l, chunk, &event, "buildId", scratch),
			.base = (uint64_t)event.slot[JFR_BASE],
			.top = (uint64_t)event.slot[JFR_TOP],
			.link_address = jfr_event_get_integer(chunk, &event, "linkAddress"),
			.file_offset = jfr_event_get_integer(chunk, &event, "fileOffset"),
		};
		if (one.path && l->list.count < LIBRARIES_MAX)
			intern(&l->list, &one, sizeof(one));
	}
}

void libraries_read_chunk(struct libraries *l, struct jfr_chunk *chunk)
{
	struct buf scratch = BUF_INIT(65536);

	libraries_read_events(l, chunk, &scratch);
	buf_free(&scratch);
}

void libraries_read(struct libraries *l, struct feed *feed)
{
	struct feed_chunk from;
	struct jfr_chunk chunk;

	if (feed->calls->restart(feed, false))
		return;
	while (feed->calls->next(feed, &from)) {
		if (!jfr_chunk_open(&chunk, from.data, &from.header)) {
			libraries_read_chunk(l, &chunk);
			jfr_chunk_close(&chunk);
		}
		feed->calls->done(feed, &from);
	}
}

static bool library_has_name(const struct libraries *l, const struct library *library,
			     const char *name)
{
	const char *path = intern_text(&l->names, library->path);
	const char *slash = strrchr(path, '/');

	return !strcmp(path, name) || (slash && !strcmp(slash + 1, name));
}

const struct library *libraries_find(const struct libraries *l, const char *name,
				     const char *build_id)
{
	for (uint32_t id = 1; id <= l->list.count; id++) {
		const struct library *one = intern_key(&l->list, id);

		if (library_has_name(l, one, name) &&
		    (!*build_id || !strcmp(intern_text(&l->names, one->build_id), build_id)))
			return one;
	}
	return NULL;
}

const struct library *libraries_at(const struct libraries *l, const char *name, uint64_t address)
{
	const struct library *found = NULL;

	for (uint32_t id = 1; id <= l->list.count; id++) {
		const struct library *one = intern_key(&l->list, id);

		if (!one->build_id || address - one->link_address >= one->top - one->base ||
		    !library_has_name(l, one, name))
			continue;
		if (found && found->build_id != one->build_id)
			return NULL;
		found = one;
	}
	return found;
}

void libraries_free(struct libraries *l)
{
	intern_free(&l->names);
	intern_free(&l->list);
}
