/* The libraries that the recordings say were mapped (jdk.NativeLibrary). */
#ifndef PROFILE_AGGREGATE_LIBRARIES_H
#define PROFILE_AGGREGATE_LIBRARIES_H

#include "profile/aggregate/feed.h"
#include "profile/basics/intern.h"

/* Interned by its bytes, so it has no padding. */
struct library {
	uint32_t path, build_id; /* in names; build_id may be 0 */
	uint64_t base, top;
	uint64_t link_address, file_offset; /* of base; 0 where there is no build-id */
};

struct libraries {
	struct intern names;
	struct intern list; /* struct library, LIBRARIES_MAX at most */
};

/* More than any program maps. */
#define LIBRARIES_MAX 4096

/* All that FEED names, from its first chunk on. Start with {0}. A chunk that is damaged is passed over in
 * silence: who reads its events tells of it. */
void libraries_read(struct libraries *libraries, struct feed *feed);

/* Likewise those that one chunk names. */
void libraries_read_chunk(struct libraries *libraries, struct jfr_chunk *chunk);

/* The one whose path, or its last part, is NAME, and that has BUILD_ID ("": any); NULL where there
 * is none. */
const struct library *libraries_find(const struct libraries *libraries, const char *name,
				     const char *build_id);

/* The one of that NAME which has a build-id, and code at the link address ADDRESS; NULL where there
 * is none, or several are of different build-ids. */
const struct library *libraries_at(const struct libraries *libraries, const char *name,
				   uint64_t address);

void libraries_free(struct libraries *libraries);

#endif
