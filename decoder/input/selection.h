/* Which recordings are wanted: by --process, --host, --tag and --label, by --group and --machine; and of
 * a bucket those of the time that is asked for. */
#ifndef DECODER_INPUT_SELECTION_H
#define DECODER_INPUT_SELECTION_H

#include <stdbool.h>

#include "decoder/bucket/bucket_query.h"
#include "profile/aggregate/query.h"

struct source;

struct selection {
	struct pattern process, host, tag;    /* of the recording, see labels.h */
	const char *labels[LABELS_ASKED_MAX]; /* "KEY=VALUE", which it must have; of one key any */
	unsigned label_count;
	bool in_samples;  /* those may be of a recording's samples, which are not looked at here */
	struct pick pick; /* as the names of uploads tell it */
	struct reach reach;
};

/* Whether SELECTION chooses among recordings at all. */
bool selection_is_set(const struct selection *selection);

/* Whether SOURCE, which is loaded, is wanted. */
bool selection_matches(const struct selection *selection, const struct source *source);

#endif
