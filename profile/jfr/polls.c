/* Polls and stalls of an event loop. */
#include "profile/jfr/polls.h"

#include <stdlib.h>
#include <string.h>

static const char poll_name[] = "tokio.PollcatchV1", stall_name[] = "asprof.StallV1";

/* Decode eight bytes at *AT, little-endian. Each byte was written as one character, in UTF-8. */
static uint64_t decode_uint64(const struct buf *text, size_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8 && *at < text->length; i++) {
		uint8_t byte = text->data[(*at)++];

		if (byte >= 0xc0 && *at < text->length)
			byte = (uint8_t)((byte & 3) << 6 | (text->data[(*at)++] & 0x3f));
		value |= (uint64_t)byte << (8 * i);
	}
	return value;
}

static bool event_has_name(const struct jfr_chunk *chunk, const struct jfr_event *event,
			   const char *wanted, struct buf *scratch)
{
	struct jfr_value type, name;

	buf_reset(scratch);
	return jfr_event_get_field(chunk, event, "type", &type) &&
	       jfr_value_get_field(chunk, &type, "name", &name) &&
	       jfr_value_append_string(chunk, &name, scratch) &&
	       scratch->length == strlen(wanted) && !memcmp(scratch->data, wanted, strlen(wanted));
}

/* A poll's data are its start and end in ticks. A stall's data are its duration in nanoseconds and
 * the result of the wait before it. */
static int polls_append(struct polls *polls, const struct jfr_chunk *chunk,
			const struct jfr_event *event, bool stall, struct buf *scratch)
{
	uint64_t first, second, end = (uint64_t)event->slot[JFR_TIME];
	struct poll poll = { 0 };
	struct jfr_value data;
	int64_t tid = 0;
	size_t at = 0;

	buf_reset(scratch);
	if (jfr_event_get_field(chunk, event, "data", &data))
		jfr_value_append_string(chunk, &data, scratch);
	first = decode_uint64(scratch, &at);
	second = decode_uint64(scratch, &at);
	if (jfr_event_thread_id(chunk, event, "eventThread", &tid))
		poll.tid = (uint32_t)tid;
	if (stall) {
		poll.duration =
			(uint64_t)((unsigned __int128)first *
				   (unsigned __int128)chunk->header.ticks_per_second / 1000000000u);
		poll.ready = (int)(int64_t)second;
	} else {
		poll.duration = second > first ? second - first : 0;
	}
	poll.start = end > poll.duration ? end - poll.duration : 0;
	return buf_append(&polls->list, &poll, sizeof(poll));
}

static int poll_compare(const void *a, const void *b)
{
	const struct poll *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->duration > y->duration) - (x->duration < y->duration);
}

static int polls_read_named(struct polls *polls, struct jfr_chunk *chunk, bool stalls)
{
	struct buf scratch = BUF_INIT(1u << 20);
	struct jfr_event event;
	struct jfr_scan scan;
	int err = 0;

	buf_reset(&polls->list);
	jfr_scan_start(&scan, chunk, JFR_MASK(JFR_USER_EVENT));
	while (!err && jfr_scan_next(&scan, &event))
		if (event_has_name(chunk, &event, stalls ? stall_name : poll_name, &scratch))
			err = polls_append(polls, chunk, &event, stalls, &scratch);
	polls->count = polls->list.length / sizeof(struct poll);
	if (polls->count)
		qsort(polls->list.data, polls->count, sizeof(struct poll), poll_compare);
	buf_free(&scratch);
	return err;
}

int polls_read(struct polls *polls, struct jfr_chunk *chunk)
{
	return polls_read_named(polls, chunk, false);
}

int polls_read_stalls(struct polls *stalls, struct jfr_chunk *chunk)
{
	return polls_read_named(stalls, chunk, true);
}

/* Number of polls before thread TID's first one that starts after TICKS. */
static size_t polls_count_until(const struct polls *polls, uint32_t tid, uint64_t ticks)
{
	const struct poll *list = (const void *)polls->list.data;
	size_t low = 0, high = polls->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (list[middle].tid < tid ||
		    (list[middle].tid == tid && list[middle].start <= ticks))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct poll *polls_find_at(const struct polls *polls, int64_t tid, int64_t ticks)
{
	struct poll *list = (void *)polls->list.data;
	size_t before;

	if (tid < 0 || tid > UINT32_MAX || ticks < 0)
		return NULL;
	before = polls_count_until(polls, (uint32_t)tid, (uint64_t)ticks);
	if (!before || list[before - 1].tid != tid || list[before - 1].start >= (uint64_t)ticks ||
	    (uint64_t)ticks - list[before - 1].start >= list[before - 1].duration)
		return NULL;
	return &list[before - 1];
}

const struct poll *polls_find_first_between(const struct polls *polls, int64_t tid, int64_t from,
					    int64_t to)
{
	const struct poll *list = (const void *)polls->list.data;
	size_t at;

	if (tid < 0 || tid > UINT32_MAX || from < 0)
		return NULL;
	at = polls_count_until(polls, (uint32_t)tid, (uint64_t)from);
	return at < polls->count && list[at].tid == tid && list[at].start < (uint64_t)to ? &list[at]
											 : NULL;
}

void polls_free(struct polls *polls)
{
	buf_free(&polls->list);
}
