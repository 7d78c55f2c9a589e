/* Libraries that were mapped, from the recordings (jdk.NativeLibrary). */
#ifndef PROFILE_AGGREGATE_LIBRARIES_H
#define PROFILE_AGGREGATE_LIBRARIES_H

#include "profile/aggregate/feed.h"
#include "profile/basics/intern.h"

/* Interned by its bytes, so it has no padding. */
struct library {
	uint32_t path, build_id; /* in names; build_id may be 0 */
	uint64_t base, top;
	uint64_t link_address, file_offset; /* of base; 0 if there is no build-id */
};

struct libraries {
	struct intern names;
	struct intern list; /* at most LIBRARIES_MAX struct library */
};

/* More than any program maps. */
#define LIBRARIES_MAX 4096

/* Add all libraries of FEED, from its first chunk on. LIBRARIES starts as {0}. Damaged chunks are
 * skipped without a message, as the reader of their events reports them. */
void libraries_read(struct libraries *libraries, struct feed *feed);

/* Add the libraries of one chunk. */
void libraries_read_chunk(struct libraries *libraries, struct jfr_chunk *chunk);

/* Returns the library whose path or file name is NAME, and that has BUILD_ID ("": any), or NULL. */
const struct library *libraries_find(const struct libraries *libraries, const char *name,
				     const char *build_id);

/* Returns the library NAME that has a build-id and code at the link address ADDRESS. Returns NULL
 * if there is none, or if there are several with different build-ids. */
const struct library *libraries_at(const struct libraries *libraries, const char *name,
				   uint64_t address);

void libraries_free(struct libraries *libraries);

#endif
