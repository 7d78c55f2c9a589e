/* Addresses of frames' code in the profiled process. */
#ifndef PROFILE_AGGREGATE_FRAME_ADDRESS_H
#define PROFILE_AGGREGATE_FRAME_ADDRESS_H

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* Whether FRAME's module is a mapped file. The class of a Java method is not. */
bool frame_is_in_mapped_file(const struct frame *frame);

/* Returns the library with the name MODULE and BUILD_ID, both in PROFILE's names, or NULL if no
 * recording has it. */
const struct library *frame_library(const struct profile *profile,
				    const struct libraries *libraries, uint32_t module,
				    uint32_t build_id);

/* Returns the address of FRAME's code; 0 if unknown. */
uint64_t frame_address(const struct profile *profile, const struct libraries *libraries,
		       const struct frame *frame);

#endif
