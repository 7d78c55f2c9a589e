/* One option's value into a config: of the environment, or while the program runs. */
#ifndef CORE_OPTIONS_CONFIG_SET_H
#define CORE_OPTIONS_CONFIG_SET_H

#include "core/options/config.h"

/* Set what OPTION stands for to VALUE, or to its default when that is NULL. A text is not copied. Returns 0,
 * or -EINVAL with CONFIG as it was. */
int config_set(struct config *config, const struct option *option, const char *value);

#endif
