/* Feed of one recording in memory, for one thread. */
#ifndef PROFILE_AGGREGATE_MEMORY_FEED_H
#define PROFILE_AGGREGATE_MEMORY_FEED_H

#include "profile/aggregate/feed.h"

struct memory_feed {
	struct feed feed; /* must be first */
	const uint8_t *data;
	uint64_t length, offset;
	struct settings_tracker settings;
};

/* Make FEED from LENGTH bytes of complete chunks at DATA, pages of a mapped file. The caller keeps
 * DATA, which must outlive FEED. Nothing to release. */
void memory_feed_init(struct memory_feed *feed, const uint8_t *data, uint64_t length);

#endif
