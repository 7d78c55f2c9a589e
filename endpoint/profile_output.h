/* From a recording that was taken to what was asked for. */
#ifndef ENDPOINT_PROFILE_OUTPUT_H
#define ENDPOINT_PROFILE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "profile/aggregate/query.h"
#include "profile/jfr/settings.h"

enum profile_format {
	PROFILE_PPROF,      /* gzipped profile.proto */
	PROFILE_TEXT,       /* folded stacks, the heaviest first */
	PROFILE_RAW,        /* the recording itself */
	PROFILE_FLAMEGRAPH, /* a page of HTML */
};

struct profile_wish {
	enum profile_format form;
	enum metric metric; /* METRIC_ANY: that of CPU time, or what there is */
	bool retained;      /* of METRIC_LIVE and METRIC_MALLOC: what the sampler's table says */
	bool threads;       /* one stack for each thread, by name */
	int64_t from_ns, to_ns;     /* samples of that time alone, since 1970 */
	struct settings configured; /* for one without a sample */
};

/* Append what WISH says of the recording in FD, a file, to OUT. Returns 0; -ENODATA where there is no such
 * sample, with an empty profile in OUT; or another -errno. */
int profile_output_write(struct buf *out, int fd, const struct profile_wish *wish);

#endif
