/* Debug files from the servers that DEBUGINFOD_URLS names, by libdebuginfod, which keeps what it
 * fetched in the cache that all its users share. */
#ifndef DECODER_SYMBOLIZE_DEBUGINFOD_H
#define DECODER_SYMBOLIZE_DEBUGINFOD_H

struct debuginfod;

/* Returns 0 (release with debuginfod_close), or -errno after a line on stderr: no server is named,
 * or the library is not installed. */
int debuginfod_open(struct debuginfod **out);

/* The path of the debug file with BUILD_ID, in hex; to be freed. NULL where no server has it. What
 * else went wrong is said, for NAME. */
char *debuginfod_find(struct debuginfod *debuginfod, const char *build_id, const char *name);

void debuginfod_close(struct debuginfod *debuginfod); /* NULL is fine */

#endif
