/* Matching of names by glob patterns. fnmatch(3) depends on the program's locale and may allocate. */
#ifndef CORE_OPTIONS_GLOB_H
#define CORE_OPTIONS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* True when NAME matches the LENGTH bytes of GLOB. `*` matches any bytes, `?` one byte, `[a-z]` one byte of the set,
 * `[!a-z]` one byte outside it. A backslash makes the next byte literal. An unclosed bracket is literal, too. */
bool glob_matches(const char *glob, size_t length, const char *name);

#endif
