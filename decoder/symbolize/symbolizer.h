/* Names, inlined functions and lines for addresses, from separate debug files that are found by
 * build-id. Several threads may ask at once. */
#ifndef DECODER_SYMBOLIZE_SYMBOLIZER_H
#define DECODER_SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate/debug_frame.h"

struct symbolizer;

/* See debug_store_open. Returns 0 (release with symbolizer_close), or -errno after a line on
 * stderr. */
int symbolizer_open(struct symbolizer **out, const char *const *directories, unsigned count,
		    bool debuginfod);

/* What is at ADDRESS of the library with BUILD_ID, as debug_info_frames has it, but with names that
 * people read. NAME is for messages. The strings are valid until symbolizer_close. */
size_t symbolizer_frames(struct symbolizer *symbolizer, const char *build_id, const char *name,
			 uint64_t address, struct debug_frame frames[DEBUG_FRAMES_MAX]);

/* Says on stderr for which libraries nothing was found, and when none had a build-id. NULL is
 * fine. */
void symbolizer_close(struct symbolizer *symbolizer);

/* A recording has been read: from then on it counts that no address was asked for. */
void symbolizer_used(struct symbolizer *symbolizer);

#endif
