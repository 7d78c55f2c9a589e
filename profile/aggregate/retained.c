/* Reader of snapshots of the native memory sampler's table. */
#include "profile/aggregate/retained.h"

#include <errno.h>

#include "profile/aggregate/resolve.h"

static bool retained_read_chunk(struct profile *profile, const struct query *query,
				struct feed *feed, struct feed_chunk *from)
{
	struct jfr_event event;
	struct jfr_chunk chunk;
	struct resolve resolve;
	struct jfr_scan scan;
	bool any = false;
	int err = jfr_chunk_open(&chunk, from->data, &from->header);

	if (err) {
		profile->out_of_memory |= err != -EBADMSG;
		feed->failed |= err == -EBADMSG;
		return false;
	}
	if (!jfr_type_by_name(&chunk, "asprof.RetainedHeap"))
		goto out;
	resolve_open(&resolve, profile, query, &chunk, from);
	jfr_scan_start(&scan, &chunk, JFR_MASK(JFR_RETAINED) | JFR_MASK(JFR_SETTING));
	while (jfr_scan_next(&scan, &event)) {
		const int64_t *slot = event.slot;
		uint32_t stack;

		if (event.kind == JFR_SETTING) {
			settings_read_event(&from->settings, &chunk, &event);
			continue;
		}
		stack = resolve_stack(&resolve, (uint64_t)slot[JFR_STACK], 0, JFR_FRAME_NATIVE);
		if (slot[JFR_COUNT] > 0)
			profile_add(profile, stack, 0, METRIC_LIVE, (double)slot[JFR_COUNT],
				    (double)slot[JFR_BYTES]);
		if (slot[JFR_TOTAL_COUNT] > 0)
			profile_add(profile, stack, 0, METRIC_MALLOC, (double)slot[JFR_TOTAL_COUNT],
				    (double)slot[JFR_TOTAL_BYTES]);
		any = true;
	}
	resolve_close(&resolve);
	if (any) {
		int64_t end = from->header.start_ns + from->header.duration_ns;

		profile_update_periods(profile, &from->settings);
		profile_extend_span(profile, end, end);
		profile->chunks++;
	}
out:
	if (chunk.error.what)
		feed->failed = true;
	jfr_chunk_close(&chunk);
	return any;
}

int retained_read(struct profile *profile, const struct query *query, struct feed *feed)
{
	struct profile last = PROFILE_INIT;
	struct feed_chunk chunk;
	bool any = false;

	*profile = (struct profile)PROFILE_INIT;
	if (feed->calls->restart(feed, true))
		return -ENOMEM;
	while (feed->calls->next(feed, &chunk)) {
		if (retained_read_chunk(&last, query, feed, &chunk)) {
			/* A snapshot is complete, so it replaces the previous one. */
			profile_free(profile);
			*profile = last;
			any = true;
		} else {
			profile->out_of_memory |= last.out_of_memory;
			profile_free(&last);
		}
		last = (struct profile)PROFILE_INIT;
		feed->calls->done(feed, &chunk);
	}
	if (profile->out_of_memory)
		return -ENOMEM;
	if (any)
		return 0;
	return feed->failed ? -EIO : -ENOENT;
}
