/* Where debug files are: directories, and servers. Files are told by their build-id alone. */
#ifndef DECODER_SYMBOLIZE_DEBUG_STORE_H
#define DECODER_SYMBOLIZE_DEBUG_STORE_H

#include <stdbool.h>

struct debug_store;

/* DIRECTORIES (COUNT of them; a single file does as well) stay the caller's. DEBUGINFOD: ask the
 * servers for what is in none of them. Returns 0 (release with debug_store_close), or -errno after
 * a line on stderr. */
int debug_store_open(struct debug_store **out, const char *const *directories, unsigned count,
		     bool debuginfod);

/* The path of the file that has the debug information of BUILD_ID, in hex, or for want of one its
 * symbols; to be freed. NULL where there is none. NAME is for messages. */
char *debug_store_find(struct debug_store *store, const char *build_id, const char *name);

void debug_store_close(struct debug_store *store); /* NULL is fine */

#endif
