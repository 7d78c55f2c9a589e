/* Warns of variables with our prefix that are no option, and of options that are not built yet. */
#include "core/options/config.h"

#include <string.h>

#include "core/log.h"
#include "core/options/option_table.h"
#include "core/options/option_view.h"

static void warn_entry(const char *entry)
{
	size_t length = strcspn(entry, "=");
	const char *value = entry[length] ? entry + length + 1 : "";
	char name[OPTION_NAME_MAX];
	struct option_view row;

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, entry, length);
	name[length] = '\0';
	if (!option_find(name, &row)) {
		if (option_nearest(name, &row))
			log_warn("%s is not known and is ignored; the nearest name is %s", name,
				 row.name);
		else
			log_warn("%s is not known and is ignored", name);
	} else if (*value && !row.built && strcmp(value, row.fallback)) {
		log_warn("%s is set, but this version cannot do it yet", name);
	}
}

void config_warn(char *const *environment)
{
	for (; *environment; environment++)
		if (option_unprefixed(*environment))
			warn_entry(*environment);
}
