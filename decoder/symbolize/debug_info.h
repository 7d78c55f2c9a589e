/* One debug file: from an address to the function there, the functions inlined into it, and their
 * lines. */
#ifndef DECODER_SYMBOLIZE_DEBUG_INFO_H
#define DECODER_SYMBOLIZE_DEBUG_INFO_H

#include "decoder/symbolize/debug_store.h"
#include "profile/aggregate/debug_frame.h"

struct debug_info;

/* Open the debug file at PATH; STORE has what it shares with others. Returns 0 (release with
 * debug_info_close), or -errno. What is too large to be read is said, for NAME unless that is NULL:
 * then there are symbols alone. */
int debug_info_open(struct debug_info **out, struct debug_store *store, const char *path,
		    const char *name);

/* What is at link address ADDRESS, innermost first; the last is the function that the others are
 * inlined into. Names may be mangled. The strings are valid until debug_info_close, but for the
 * name of a function without debug information: that one until the next call. Returns how many
 * there are, 0 when nothing is known. */
size_t debug_info_frames(struct debug_info *info, uint64_t address,
			 struct debug_frame frames[DEBUG_FRAMES_MAX]);

void debug_info_close(struct debug_info *info); /* NULL is fine */

/* The most memory that packed sections of one file may take, which are unpacked at once. */
#define DEBUG_INFO_UNPACKED_MAX (24u << 20)

#endif
