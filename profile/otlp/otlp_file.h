/* Writer of an OTLP profiles file with the time of each sample: one ProfilesData message. */
#ifndef PROFILE_OTLP_OTLP_FILE_H
#define PROFILE_OTLP_OTLP_FILE_H

#include <stdio.h>

#include "profile/aggregate/libraries.h"
#include "profile/timed/timed_store.h"

/* Write STORE to FILE. The order of its samples changes. LIBRARIES has the libraries of its code.
 * Returns 0 or -errno; errors of FILE stay in FILE. */
int otlp_file_write(FILE *file, struct timed_store *store, const struct libraries *libraries);

#endif
