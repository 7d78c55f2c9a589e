/* List of the recordings that the command line names: files, and the content of directories and buckets. */
#ifndef DECODER_INPUT_RECORDINGS_H
#define DECODER_INPUT_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/input/selection.h"
#include "profile/basics/intern.h"

struct recording_path {
	char *path;
	int64_t start_ns; /* start of its first chunk, set by recordings_span() */
};

/* Start as {0}, or with the selection alone. */
struct recordings {
	struct recording_path *list;
	uint32_t count, room;
	const struct selection *selection; /* NULL: all */
	struct intern added; /* device and inode of each file and directory, path of each object */
	bool failed; /* a path was unreadable or contained no recording; a message was printed */
};

/* Add the recordings at PATHS. Each file is added once, even if it is named or linked several times.
 * Returns 0 or -ENOMEM. Release with recordings_free() in both cases. */
int recordings_add_paths(struct recordings *recordings, char **paths, int count);

/* Get the time from the first start to the last end of all recordings, in ns since 1970. Reads all headers.
 * Returns false if there is no chunk. */
bool recordings_span(struct recordings *recordings, int64_t *start_ns, int64_t *end_ns);

/* Sort by the start of the first chunk. */
void recordings_sort(struct recordings *recordings);

void recordings_free(struct recordings *recordings);

#endif
