/* Reads the config from an environment, by the option table. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/executable.h"
#include "core/options/config.h"
#include "core/options/config_set.h"
#include "core/options/option_table.h"
#include "core/system.h"

/* Return the value in ENTRY, "NAME=value", if NAME is OPTION's; else NULL. */
static const char *entry_value(const struct option *option, const char *entry)
{
	size_t length = strlen(option->name);

	return !strncmp(entry, option->name, length) && entry[length] == '=' ? entry + length + 1
									     : NULL;
}

/* Find each option's value in ENVIRONMENT, or NULL. As in getenv(3), the first of two counts. An empty value counts
 * as none, because unit files and containers unset variables that way. */
static void values_find(char *const *environment, const char *values[OPTION_COUNT])
{
	const char *entry, *value;

	memset(values, 0, OPTION_COUNT * sizeof(*values));
	for (; *environment; environment++) {
		entry = option_unprefixed(*environment);
		for (size_t i = 0; entry && i < OPTION_COUNT; i++) {
			value = entry_value(&option_table[i], entry);
			if (!value)
				continue;
			if (!values[i])
				values[i] = value;
			break;
		}
	}
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (values[i] && !*values[i])
			values[i] = NULL;
}

static int config_set_range(struct config *config, const char *const *values, size_t from,
			    size_t to, char problem[OPTION_PROBLEM_MAX])
{
	for (size_t i = from; i < to; i++)
		if (config_set(config, &option_table[i], values[i]))
			return option_complain(&option_table[i], values[i], problem);
	return 0;
}

/* Copy the strings from the environment into one block, because the program may change its environment. The
 * executable's name follows them if it is the group. */
static int config_copy_texts(struct config *config, const char *const *values)
{
	char executable[NAME_MAX + 1];
	size_t size = 0;
	char *p;

	executable_name(executable, sizeof(executable));
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (values[i] && option_table[i].type == OPTION_TEXT)
			size += strlen(values[i]) + 1;
	if (!config->profiling_group)
		size += strlen(executable) + 1;
	p = config->storage;
	if (size > sizeof(config->storage)) {
		config->mapped = p = system_map(size);
		config->mapped_bytes = size;
	}
	if (!p)
		return -ENOMEM;

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!values[i] || option_table[i].type != OPTION_TEXT)
			continue;
		strcpy(p, values[i]);
		config_set(config, &option_table[i], p); /* was accepted before */
		p += strlen(p) + 1;
	}
	if (!config->profiling_group)
		config->profiling_group = strcpy(p, executable);
	return 0;
}

int config_read(struct config *config, char *const *environment, char problem[OPTION_PROBLEM_MAX])
{
	const char *values[OPTION_COUNT];
	int err;

	memset(config, 0, sizeof(*config));
	problem[0] = '\0';
	values_find(environment, values);
	err = config_set_range(config, values, 0, 1, problem);
	if (err || !config->enabled) /* inert: other values are neither used nor checked */
		return err;
	err = config_set_range(config, values, 1, OPTION_COUNT, problem);
	if (err)
		return err;
	if (config->listen && !listen_is_local(config->listen) && !config->listen_token)
		return option_complain(option_lookup("LISTEN"), config->listen, problem);
	config->local_max_bytes_set = values[option_lookup("LOCAL_MAX_BYTES") - option_table];
	config->spool_max_bytes_set = values[option_lookup("SPOOL_MAX_BYTES") - option_table];
	return config_copy_texts(config, values);
}

void config_free(struct config *config)
{
	if (config->mapped)
		system_unmap(config->mapped, config->mapped_bytes);
	memset(config, 0, sizeof(*config));
}
