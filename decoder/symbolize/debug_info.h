/* One debug file: the function at an address, functions inlined into it, and lines. */
#ifndef DECODER_SYMBOLIZE_DEBUG_INFO_H
#define DECODER_SYMBOLIZE_DEBUG_INFO_H

#include "decoder/symbolize/debug_store.h"
#include "profile/aggregate/debug_frame.h"

struct debug_info;

/* Open the debug file at PATH. STORE finds the file with common parts. If debug information is too large, only symbols
 * are used, and a message with NAME is printed (NULL: none). Returns 0 (release with debug_info_close), or -errno. */
int debug_info_open(struct debug_info **out, struct debug_store *store, const char *path,
		    const char *name);

/* Fill FRAMES with the functions at link address ADDRESS, innermost first; the others are inlined into the last
 * one. Names may be mangled. Strings are valid until debug_info_close(); only the name of a function without
 * debug information is overwritten by the next call. Returns the number of frames, 0 if nothing is known. */
size_t debug_info_frames(struct debug_info *info, uint64_t address,
			 struct debug_frame frames[DEBUG_FRAMES_MAX]);

void debug_info_close(struct debug_info *info); /* NULL is fine */

/* Memory limit for the compressed sections of one file, which libdw decompresses at once. */
#define DEBUG_INFO_UNPACKED_MAX (24u << 20)

#endif
