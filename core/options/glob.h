/* Names by pattern. fnmatch(3) goes by the program's locale, and may allocate. */
#ifndef CORE_OPTIONS_GLOB_H
#define CORE_OPTIONS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether NAME is as the LENGTH bytes of GLOB say: `*` stands for any bytes, `?` for one, `[a-z]` for one of
 * these, `[!a-z]` for one that is none of these, and any byte behind a backslash for itself. A bracket that
 * is not closed stands for itself, too. */
bool glob_matches(const char *glob, size_t length, const char *name);

#endif
