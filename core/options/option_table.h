/* The table of options, for those who read values by it. (Those who show it: option_view.h.) */
#ifndef CORE_OPTIONS_OPTION_TABLE_H
#define CORE_OPTIONS_OPTION_TABLE_H

#include <string.h>

#include "core/options/option_value.h"
#include "core/options/config.h"

#define OPTION_COUNT 43

/* In the order of the documentation. ENABLED is first, since it is read before the rest. */
extern const struct option option_table[];

/* What follows OPTION_PREFIX in TEXT, an entry of an environment or a name; NULL without it. */
static inline const char *option_unprefixed(const char *text)
{
	size_t length = sizeof(OPTION_PREFIX) - 1;

	return strncmp(text, OPTION_PREFIX, length) ? NULL : text + length;
}

/* The row of NAME, with the prefix or without; NULL when there is none. */
const struct option *option_lookup(const char *name);

#endif
