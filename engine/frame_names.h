/* Names for the frames of a chunk, from the symbols of the program. */
#ifndef ENGINE_FRAME_NAMES_H
#define ENGINE_FRAME_NAMES_H

#include "engine/jfr_write.h"

/* A jfr_namer; its context is a struct symbols. */
jfr_namer frame_names;

#endif
