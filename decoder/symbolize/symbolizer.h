/* Names, inlined functions and lines for addresses, from separate debug files that are found by
 * build-id. Several threads may ask at once. */
#ifndef DECODER_SYMBOLIZE_SYMBOLIZER_H
#define DECODER_SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>

#include "profile/aggregate/query.h"

struct symbolizer;

/* See debug_store_open. Returns 0 (release with symbolizer_close), or -errno after a line on
 * stderr. */
int symbolizer_open(struct symbolizer **out, const char *const *directories, unsigned count,
		    bool debuginfod);

/* Names that people read, from what debug_info_frames finds. What it gives stays until
 * symbolizer_close. */
struct address_lookup symbolizer_lookup(struct symbolizer *symbolizer);

/* Says on stderr for which libraries nothing was found, and when none had a build-id. NULL is
 * fine. */
void symbolizer_close(struct symbolizer *symbolizer);

#endif
