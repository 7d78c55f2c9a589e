/* Writer of profiles as gzipped profile.proto, the format of `go tool pprof`
 * (https://github.com/google/pprof/blob/main/proto/profile.proto). */
#ifndef PROFILE_PPROF_PPROF_WRITE_H
#define PROFILE_PPROF_PPROF_WRITE_H

#include <stdio.h>

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* Write PROFILE to FILE. LIBRARIES has the libraries of its code. Returns 0 or -errno. */
int pprof_write(FILE *file, const struct profile *profile, const struct libraries *libraries);

/* Selection of a profile's samples. */
struct pprof_part {
	uint32_t metrics;         /* a mask of 1 << enum metric */
	uint32_t from, to;        /* indexes in profile->samples; `to` is excluded */
	int64_t start_ns, end_ns; /* time range; 0: the profile's */
	bool for_pyroscope;       /* it identifies a profile by the names of its types */
};

/* Append PART of PROFILE to OUT. Returns 0; -ENODATA if there is no such sample, with OUT
 * unchanged; or -errno, which is -EFBIG if OUT's cap is exceeded. */
int pprof_write_part(struct buf *out, const struct profile *profile,
		     const struct libraries *libraries, const struct pprof_part *part);

#endif
