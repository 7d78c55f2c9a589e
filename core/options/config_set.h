/* Sets one option in a config, from the environment or while the program runs. */
#ifndef CORE_OPTIONS_CONFIG_SET_H
#define CORE_OPTIONS_CONFIG_SET_H

#include "core/options/config.h"

/* Set OPTION to VALUE, or to its default when VALUE is NULL. A string is not copied. Returns 0, or -EINVAL with
 * CONFIG unchanged. */
int config_set(struct config *config, const struct option *option, const char *value);

#endif
