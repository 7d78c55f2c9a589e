/* Warnings about unknown variables with the agent's prefix, and about options that are not supported yet. */
#include "core/options/config.h"

#include <string.h>

#include "core/log.h"
#include "core/options/option_table.h"
#include "core/options/option_view.h"

static void warn_entry(const char *entry)
{
	const char *equals = strchr(entry, '='), *value = equals ? equals + 1 : "";
	size_t length = equals ? (size_t)(equals - entry) : strlen(entry);
	const struct option *option;
	char name[OPTION_NAME_MAX];
	struct option_view nearest;

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, entry, length);
	name[length] = '\0';
	option = option_lookup(name);
	if (option && option->unbuilt && *value && strcmp(value, option->fallback))
		log_warn("%s is set, but this version cannot do it yet", name);
	else if (!option && option_nearest(name, &nearest))
		log_warn("%s is not known and is ignored; the nearest name is %s", name,
			 nearest.name);
	else if (!option)
		log_warn("%s is not known and is ignored", name);
}

void config_warn(char *const *environment)
{
	for (; *environment; environment++)
		if (option_unprefixed(*environment))
			warn_entry(*environment);
}
