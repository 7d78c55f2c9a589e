/* Sets one option in a config. */
#include "core/options/config_set.h"

#include <string.h>

#include "core/options/option_table.h"

static void config_store(struct config *config, const struct option *option,
			 const union option_value *value)
{
	char *field = (char *)config + option->offset;

	switch (option->type) {
	case OPTION_SWITCH:
		memcpy(field, &value->on, sizeof(value->on));
		break;
	case OPTION_WORD:
		memcpy(field, &value->word, sizeof(value->word));
		break;
	case OPTION_DURATION:
	case OPTION_SIZE:
	case OPTION_SHARE:
		memcpy(field, &value->number, sizeof(value->number));
		break;
	case OPTION_TEXT:
		memcpy(field, &value->text, sizeof(value->text));
		break;
	}
}

int config_set(struct config *config, const struct option *option, const char *value)
{
	union option_value parsed = { .text = NULL };
	int err = 0;

	if (value || *option->fallback)
		err = option_parse(option, value ? value : option->fallback, &parsed);
	if (!err)
		config_store(config, option, &parsed);
	return err;
}
