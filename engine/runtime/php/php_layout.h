/* Where PHP keeps what a walk looks for: the offsets of its structures, by version. */
#ifndef ENGINE_RUNTIME_PHP_LAYOUT_H
#define ENGINE_RUNTIME_PHP_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Offsets in bytes. What has been the same since PHP 7.4 stands in php_walk.c. */
struct php_layout {
	uint16_t version; /* major << 8 | minor */

	/* Of executor_globals: the innermost frame, and where an error goes to, on the stack of who runs it. */
	uint16_t globals_current, globals_bailout;

	/* Of a function: how many instructions it has, and where they are; the file that it is in, and its
	 * first line. */
	uint8_t function_count, function_code, function_file, function_line;
};

/* What is read of a function lies within so many bytes. */
#define PHP_FUNCTION_BYTES 184

/* The layout of VERSION; NULL where it is not known. */
const struct php_layout *php_layout_known(uint16_t version);

#endif
