/* Where in memory a frame's code was. */
#ifndef PROFILE_AGGREGATE_FRAME_ADDRESS_H
#define PROFILE_AGGREGATE_FRAME_ADDRESS_H

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

/* Whether FRAME's module is a file that was mapped: the class of a Java method is none. */
bool frame_is_in_mapped_file(const struct frame *frame);

/* The library that a module is, by its name and build-id in PROFILE's names; NULL where it is not told. */
const struct library *frame_library(const struct profile *profile,
				    const struct libraries *libraries, uint32_t module,
				    uint32_t build_id);

/* The address of FRAME's code; 0 where it is not known. */
uint64_t place_address(const struct profile *profile, const struct libraries *libraries,
		       const struct frame *frame);

#endif
