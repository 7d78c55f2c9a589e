/* A profile as gzipped profile.proto, which `go tool pprof` and all that reads it takes
 * (https://github.com/google/pprof/blob/main/proto/profile.proto). */
#ifndef PROFILE_PPROF_PPROF_WRITE_H
#define PROFILE_PPROF_PPROF_WRITE_H

#include <stdio.h>

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* Write PROFILE, whose code was in LIBRARIES, to FILE. Returns 0 or -errno. */
int pprof_write(FILE *file, const struct profile *profile, const struct libraries *libraries);

/* Some of a profile's samples. */
struct pprof_part {
	uint32_t metrics;         /* a mask of 1 << enum metric */
	uint32_t from, to;        /* of profile->samples, TO itself not */
	int64_t start_ns, end_ns; /* the time that it is of; 0: the profile's own */
	bool for_pyroscope; /* by Pyroscope, which tells what a profile is by its types' names */
};

/* Put PART of PROFILE behind what is in OUT. Returns 0; -ENODATA where there is no such sample, with OUT
 * as it was; or -errno, -EFBIG past OUT's cap. */
int pprof_write_part(struct buf *out, const struct profile *profile,
		     const struct libraries *libraries, const struct pprof_part *part);

#endif
