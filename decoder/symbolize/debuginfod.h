/* Debug files from the servers in DEBUGINFOD_URLS, through libdebuginfod, which has its own cache of files. */
#ifndef DECODER_SYMBOLIZE_DEBUGINFOD_H
#define DECODER_SYMBOLIZE_DEBUGINFOD_H

struct debuginfod;

/* Load the library. Returns 0 (release with debuginfod_close), or -errno after a message: no server is set, or
 * the library is not installed. */
int debuginfod_open(struct debuginfod **out);

/* Returns the path of the debug file with BUILD_ID (hexadecimal), or NULL. Release with free(). Errors except a missing
 * file are printed with NAME. */
char *debuginfod_find(struct debuginfod *debuginfod, const char *build_id, const char *name);

/* Free DEBUGINFOD; may be NULL. */
void debuginfod_close(struct debuginfod *debuginfod);

#endif
