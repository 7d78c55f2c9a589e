/* Symbolizer: names, inlined functions and lines for addresses, from separate debug files that are found by build-id.
 * Lookups are thread-safe. */
#ifndef DECODER_SYMBOLIZE_SYMBOLIZER_H
#define DECODER_SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>

#include "profile/aggregate/query.h"

struct symbolizer;

/* Open a symbolizer with the sources of debug_store_open(). Returns 0 (release with symbolizer_close), or -errno after
 * a message. */
int symbolizer_open(struct symbolizer **out, const char *const *directories, unsigned count,
		    bool debuginfod);

/* Returns a lookup of demangled names. Its strings are valid until symbolizer_close(). */
struct address_lookup symbolizer_lookup(struct symbolizer *symbolizer);

/* Print for which libraries no debug file was found, or that none had a build-id, and free SYMBOLIZER; may be NULL. */
void symbolizer_close(struct symbolizer *symbolizer);

#endif
