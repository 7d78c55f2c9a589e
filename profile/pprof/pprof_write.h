/* A profile as gzipped profile.proto, which `go tool pprof` and all that reads it takes
 * (https://github.com/google/pprof/blob/main/proto/profile.proto). */
#ifndef PROFILE_PPROF_PPROF_WRITE_H
#define PROFILE_PPROF_PPROF_WRITE_H

#include <stdio.h>

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* Write PROFILE, whose code was in LIBRARIES, to FILE. Returns 0 or -errno. */
int pprof_write(FILE *file, const struct profile *profile, const struct libraries *libraries);

#endif
