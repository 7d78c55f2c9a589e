/* Debug files in directories and on servers, found by build-id alone. */
#ifndef DECODER_SYMBOLIZE_DEBUG_STORE_H
#define DECODER_SYMBOLIZE_DEBUG_STORE_H

#include <stdbool.h>

struct debug_store;

/* Open a store of the COUNT paths in DIRECTORIES, which must stay valid; a path may be a single file. DEBUGINFOD: ask
 * servers for further files. Returns 0 (release with debug_store_close), or -errno after a message. */
int debug_store_open(struct debug_store **out, const char *const *directories, unsigned count,
		     bool debuginfod);

/* Returns the path of the file with the debug information of BUILD_ID (hexadecimal), else of one with its symbols, or
 * NULL. Release with free(). NAME is for messages. */
char *debug_store_find(struct debug_store *store, const char *build_id, const char *name);

/* Free STORE; may be NULL. */
void debug_store_close(struct debug_store *store);

#endif
