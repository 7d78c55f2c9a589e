/* What debug information says of an address. */
#ifndef DECODER_SYMBOLIZE_DWARF_FRAMES_H
#define DECODER_SYMBOLIZE_DWARF_FRAMES_H

#include "decoder/symbolize/dwarf_library.h"
#include "profile/aggregate/debug_frame.h"
#include "profile/basics/intern.h"

/* See debug_info_frames. Names that debug information has in parts are put together in NAMES. Of
 * assembler there are lines alone: its last frame has no name. */
size_t dwarf_frames(const struct dwarf_library *lib, Dwarf *dwarf, struct intern *names,
		    uint64_t address, struct debug_frame frames[DEBUG_FRAMES_MAX]);

#endif
