/* The libraries that the recordings say were mapped (jdk.NativeLibrary). */
#ifndef DECODER_LIBRARIES_H
#define DECODER_LIBRARIES_H

#include "decoder/args.h"
#include "decoder/intern.h"

struct library {
	uint32_t path, build_id; /* in names; build_id may be 0 */
	uint64_t base, top;
};

struct libraries {
	struct intern names;
	struct library *list;
	size_t count, room;
};

/* Start with {0}. What cannot be read is passed over in silence: it has been told of. */
void libraries_read(struct libraries *libraries, const struct args *args);

/* The one whose path, or its last part, is NAME; NULL where there is none. */
const struct library *libraries_find(const struct libraries *libraries, const char *name);

void libraries_free(struct libraries *libraries);

#endif
