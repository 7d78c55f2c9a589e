/* Frames of an address, from DWARF. */
#ifndef DECODER_SYMBOLIZE_DWARF_FRAMES_H
#define DECODER_SYMBOLIZE_DWARF_FRAMES_H

#include "decoder/symbolize/dwarf_library.h"
#include "profile/aggregate/debug_frame.h"
#include "profile/basics/intern.h"

/* Fill FRAMES as debug_info_frames() does. Composed names are stored in NAMES. For assembler code only the line
 * is known: the last frame has no name. */
size_t dwarf_frames(const struct dwarf_library *lib, Dwarf *dwarf, struct intern *names,
		    uint64_t address, struct debug_frame frames[DEBUG_FRAMES_MAX]);

#endif
