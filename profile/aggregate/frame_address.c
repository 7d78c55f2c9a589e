/* Addresses of frames' code in the profiled process. */
#include "profile/aggregate/frame_address.h"

/* An inlined frame has a caller only if it is native. */
bool frame_is_in_mapped_file(const struct frame *frame)
{
	return frame->module && (frame->type == JFR_FRAME_NATIVE || frame->type == JFR_FRAME_CPP ||
				 frame->type == JFR_FRAME_KERNEL ||
				 (frame->type == JFR_FRAME_INLINED && frame->caller));
}

const struct library *frame_library(const struct profile *profile,
				    const struct libraries *libraries, uint32_t module,
				    uint32_t build_id)
{
	return libraries_find(libraries, intern_text(&profile->names, module),
			      intern_text(&profile->names, build_id));
}

uint64_t frame_address(const struct profile *profile, const struct libraries *libraries,
		       const struct frame *frame)
{
	const struct library *library =
		frame->address ? frame_library(profile, libraries, frame->module, frame->build_id)
			       : NULL;

	return library ? library->base + (frame->address - library->link_address) : 0;
}
