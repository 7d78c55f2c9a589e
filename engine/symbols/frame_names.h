/* Names for the frames of a chunk, from the program's symbols. */
#ifndef ENGINE_SYMBOLS_FRAME_NAMES_H
#define ENGINE_SYMBOLS_FRAME_NAMES_H

#include "engine/jfr/jfr_write.h"

/* A jfr_namer; its context is a struct symbols. */
jfr_namer frame_names;

#endif
