/* Selection of recordings by --process, --host, --tag, --label, --group and --machine, and of uploads by time. */
#ifndef DECODER_INPUT_SELECTION_H
#define DECODER_INPUT_SELECTION_H

#include <stdbool.h>

#include "decoder/bucket/bucket_query.h"
#include "profile/aggregate/query.h"

struct source;

struct selection {
	struct pattern process, host, tag;    /* labels of the recording, see labels.h */
	const char *labels[LABELS_ASKED_MAX]; /* required, "KEY=VALUE"; of one key any value */
	unsigned label_count;
	bool in_samples; /* the labels may be those of samples, which this module does not check */
	struct upload_filter uploads; /* by the names of uploads */
	struct bucket_access bucket;
};

/* Whether SELECTION can exclude a recording. */
bool selection_is_set(const struct selection *selection);

/* Whether SELECTION includes SOURCE, which must be loaded. */
bool selection_matches(const struct selection *selection, const struct source *source);

#endif
