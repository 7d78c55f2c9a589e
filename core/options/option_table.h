/* Option table, for code that parses values. (For code that displays it: option_view.h.) */
#ifndef CORE_OPTIONS_OPTION_TABLE_H
#define CORE_OPTIONS_OPTION_TABLE_H

#include <string.h>

#include "core/options/option_value.h"
#include "core/options/config.h"

#define OPTION_COUNT 47

/* In the order of the documentation. ENABLED is first because it is read first. */
extern const struct option option_table[];

/* Return the part of TEXT, a name or an environment entry, after OPTION_PREFIX; NULL without the prefix. */
static inline const char *option_unprefixed(const char *text)
{
	size_t length = sizeof(OPTION_PREFIX) - 1;

	return strncmp(text, OPTION_PREFIX, length) ? NULL : text + length;
}

/* Return the row of NAME, with or without the prefix; NULL when there is none. */
const struct option *option_lookup(const char *name);

#endif
