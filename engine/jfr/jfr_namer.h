/* Interface of the function that symbolizes the program counters of a chunk. */
#ifndef ENGINE_JFR_JFR_NAMER_H
#define ENGINE_JFR_JFR_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"

/* Symbol of a program counter. The jfr_namer owns the strings, which are valid until jfr_chunk_end() returns. */
struct jfr_frame_name {
	const char *class_name;  /* a library's file name, or a script's path; NULL: none */
	const char *method_name; /* demangled; NULL: the frame is named "[unknown]" */

	/* Functions that are inlined there, innermost first, each with its NUL, then an empty one. They get frames of the
	 * same class and type. NULL: none. */
	const char *inlined;
	uint8_t type;     /* enum jfr_frame_type */
	uint32_t address; /* link address in the library; 0: unknown, or above 2 GiB */
	uint32_t line;    /* 0: unknown */
};

/* Symbolize COUNT different program counters and set OUT, which the caller has zeroed. A pc with
 * IS_RETURN is a return address; the call instruction ends just before it. jfr_chunk_end() calls it, in
 * its thread. Returns 0 or -errno, which makes the chunk fail. */
typedef int jfr_namer(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		      struct jfr_frame_name *out);

#endif
