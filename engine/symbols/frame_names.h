/* Names for the frames of a chunk: of native code from the program's symbols, of interpreters from the
 * frame table. */
#ifndef ENGINE_SYMBOLS_FRAME_NAMES_H
#define ENGINE_SYMBOLS_FRAME_NAMES_H

#include "engine/jfr/jfr_write.h"

/* A jfr_namer, whose context is a struct symbols (engine/symbols/symbols.h). */
jfr_namer frame_names;

#endif
