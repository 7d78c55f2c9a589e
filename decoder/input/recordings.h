/* The recordings that a command line names: files, and what is in directories and in
 * buckets. */
#ifndef DECODER_INPUT_RECORDINGS_H
#define DECODER_INPUT_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/input/selection.h"
#include "profile/basics/intern.h"

struct recording_path {
	char *path;
	int64_t start_ns; /* of its first chunk, once recordings_span() has looked */
};

/* Starts as {0}, or with selection alone. */
struct recordings {
	struct recording_path *list;
	uint32_t count, room;
	const struct selection *selection; /* which of them are wanted; NULL: all */
	struct intern
		met; /* device and inode of the files and directories so far, paths of objects */
	bool failed; /* something could not be looked at, or a directory has none: that was said */
};

/* Add what PATHS name, each file once, however often it is named or linked to. Returns 0 or -ENOMEM; release with recordings_free() either way. */
int recordings_add_paths(struct recordings *recordings, char **paths, int count);

/* From the first start to the last end of all of them, in ns since 1970; reads all headers. False
 * where there is no chunk at all. */
bool recordings_span(struct recordings *recordings, int64_t *start_ns, int64_t *end_ns);

/* Sort them by the time of their first chunk. */
void recordings_sort(struct recordings *recordings);

void recordings_free(struct recordings *recordings);

#endif
