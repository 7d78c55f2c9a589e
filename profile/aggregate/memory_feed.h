/* A feed of one recording in memory. One thread. */
#ifndef PROFILE_AGGREGATE_MEMORY_FEED_H
#define PROFILE_AGGREGATE_MEMORY_FEED_H

#include "profile/aggregate/feed.h"

struct memory_feed {
	struct feed feed; /* to be handed to whoever reads */
	const uint8_t *data;
	uint64_t length, offset;
	struct settings_tracker settings;
};

/* Of LENGTH bytes of whole chunks at DATA, the caller's: pages of a mapped file. Nothing to release. */
void memory_feed_init(struct memory_feed *feed, const uint8_t *data, uint64_t length);

#endif
