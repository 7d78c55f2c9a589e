/* Who names the program counters of a chunk. */
#ifndef ENGINE_JFR_JFR_NAMER_H
#define ENGINE_JFR_JFR_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"

/* How a program counter is called; strings stay valid until the chunk is closed. */
struct jfr_frame_name {
	const char *class_name;  /* of native code the library's file name, of scripts their file's
				  * path; NULL: none */
	const char *method_name; /* demangled; NULL: the frame is called "[unknown]" */
	uint8_t type;            /* enum jfr_frame_type */
	uint32_t address;        /* link address in the library; 0: unknown, or beyond 2 GiB */
	uint32_t line;           /* 0: unknown */
};

/* Name COUNT program counters, all different, into OUT (zeroed). Those with IS_RETURN are return
 * addresses: the call lies before them. Returns 0 or -errno, which fails the chunk. */
typedef int jfr_namer(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		      struct jfr_frame_name *out);

#endif
