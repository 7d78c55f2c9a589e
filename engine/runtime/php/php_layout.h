/* Offsets in PHP's structures, by version: of 64-bit PHP without ZTS. */
#ifndef ENGINE_RUNTIME_PHP_LAYOUT_H
#define ENGINE_RUNTIME_PHP_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Offsets in bytes. Offsets that are constant since PHP 7.4 are in php_walk.c. */
struct php_layout {
	uint16_t version; /* major << 8 | minor */

	/* executor_globals: the innermost frame, and the bailout buffer for errors, which is on the
	 * stack of the running thread. */
	uint16_t globals_current, globals_bailout;

	/* A function: the number of its instructions and their address; its file and its first line. */
	uint8_t function_count, function_code, function_file, function_line;
};

/* The fields that are read of a function are within this size. */
#define PHP_FUNCTION_BYTES 184

/* The layout of VERSION; NULL if it is not known. */
const struct php_layout *php_layout_known(uint16_t version);

#endif
