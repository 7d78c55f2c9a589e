/* Feed of one recording in memory. */
#include "profile/aggregate/memory_feed.h"

#include <string.h>

static struct memory_feed *memory_feed_from(struct feed *feed)
{
	return (struct memory_feed *)feed;
}

static int memory_feed_restart(struct feed *feed, bool ordered)
{
	struct memory_feed *f = memory_feed_from(feed);

	(void)ordered;
	f->offset = 0;
	memset(&f->settings, 0, sizeof(f->settings));
	if (f->length)
		settings_tracker_start(&f->settings, f->data, f->length);
	return 0;
}

static bool memory_feed_next(struct feed *feed, struct feed_chunk *chunk)
{
	struct memory_feed *f = memory_feed_from(feed);
	struct jfr_error error = { 0 };

	memset(chunk, 0, sizeof(*chunk));
	if (jfr_header_read(&chunk->header, f->data, f->length, f->offset, &error)) {
		feed->failed |= f->offset < f->length;
		return false;
	}
	chunk->source = f;
	chunk->file = "the recording";
	chunk->data = f->data;
	chunk->settings = *settings_tracker_get(&f->settings, f->data, f->length, f->offset);
	f->offset += chunk->header.size;
	return true;
}

static void memory_feed_done(struct feed *feed, struct feed_chunk *chunk)
{
	(void)feed;
	(void)chunk;
}

static void memory_feed_damage(struct feed *feed, const struct feed_chunk *chunk,
			       const struct jfr_error *error)
{
	(void)chunk;
	(void)error;
	feed->failed = true;
}

static bool memory_feed_span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	struct memory_feed *f = memory_feed_from(feed);
	struct jfr_header header;
	struct jfr_error error;
	uint64_t offset = 0;

	*start_ns = INT64_MAX;
	*end_ns = INT64_MIN;
	while (!jfr_header_read(&header, f->data, f->length, offset, &error)) {
		int64_t end = header.start_ns + header.duration_ns;

		*start_ns = header.start_ns < *start_ns ? header.start_ns : *start_ns;
		*end_ns = end > *end_ns ? end : *end_ns;
		offset += header.size;
	}
	return offset > 0;
}

static bool memory_feed_is_small(struct feed *feed)
{
	(void)feed;
	return true;
}

void memory_feed_init(struct memory_feed *feed, const uint8_t *data, uint64_t length)
{
	static const struct feed_calls calls = { .restart = memory_feed_restart,
						 .next = memory_feed_next,
						 .done = memory_feed_done,
						 .damage = memory_feed_damage,
						 .span = memory_feed_span,
						 .is_small = memory_feed_is_small };

	*feed = (struct memory_feed){ .feed.calls = &calls, .data = data, .length = length };
}
