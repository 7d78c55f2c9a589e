/* Start parameters of engines, from the config and the user's ENGINE_OPTIONS. */
#include "core/agent/engine_start.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(ENGINE_OFF == OPTION_OFF, "a config's value is an engine's");

struct engine_start engine_start_of(const struct config *config, bool mem)
{
	bool cpu = config->cpu_interval_ns != OPTION_OFF;

	return (struct engine_start){
		.cpu = cpu || config->wall_interval_ns == OPTION_OFF,
		.interval_ns = cpu ? config->cpu_interval_ns : config->wall_interval_ns,
		.wall_ns = cpu ? config->wall_interval_ns : ENGINE_OFF,
		.mem_bytes = mem ? config->native_mem_bytes : ENGINE_OFF,
		.lock_ns = config->lock_ns,
		.cstack = config->cstack,
		.options = config->engine_options,
	};
}

/* Numeric options, and the unit letters that async-profiler accepts: one letter, in either case. */
static const struct {
	const char *name;
	size_t offset;
	const char *letters;
} numeric_options[] = {
	{ "interval=", offsetof(struct engine_start, interval_ns), "numsbkg" },
	{ "wall=", offsetof(struct engine_start, wall_ns), "nums" },
	{ "nativemem=", offsetof(struct engine_start, mem_bytes), "bkmg" },
};

static uint64_t unit_bytes_or_ns(char letter, bool bytes)
{
	switch (letter) {
	case 'u':
		return 1000;
	case 'm':
		return bytes ? 1u << 20 : 1000000;
	case 's':
		return 1000000000;
	case 'k':
		return 1u << 10;
	case 'g':
		return 1u << 30;
	default:
		return 1;
	}
}

/* Parse the number at TEXT, up to a comma; ENGINE_OFF where there is none. */
static uint64_t parse_quantity(const char *text, const char *letters)
{
	char *end, letter;
	unsigned long long number;
	uint64_t all;

	if (*text < '0' || *text > '9')
		return ENGINE_OFF;
	errno = 0;
	number = strtoull(text, &end, 0);
	letter = *end >= 'A' && *end <= 'Z' ? (char)(*end - 'A' + 'a') : *end;
	if (errno || (letter && letter != ',' && !strchr(letters, letter)) ||
	    __builtin_mul_overflow(number, unit_bytes_or_ns(letter, letters[0] == 'b'), &all) ||
	    all > INT64_MAX)
		return ENGINE_OFF;
	return all;
}

static bool option_is_word(const char *value, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(value, word, length) && (!value[length] || value[length] == ',');
}

static bool option_begins_with(const char *option, const char *name)
{
	return !strncmp(option, name, strlen(name));
}

int engine_start_set(struct engine_start *start, const char *option)
{
	const char *value = strchr(option, '=');

	for (size_t i = 0; i < sizeof(numeric_options) / sizeof(*numeric_options); i++) {
		uint64_t number;

		if (!option_begins_with(option, numeric_options[i].name))
			continue;
		number = parse_quantity(value + 1, numeric_options[i].letters);
		memcpy((char *)start + numeric_options[i].offset, &number, sizeof(number));
		return number == ENGINE_OFF ? -EINVAL : 0;
	}
	if (option_begins_with(option, "cstack=")) {
		start->cstack = value + 1;
		return 0;
	}
	if (!option_begins_with(option, "event="))
		return -ENOENT;
	start->cpu = option_is_word(value + 1, "cpu");
	return start->cpu || option_is_word(value + 1, "wall") ? 0 : -EINVAL;
}

static uint64_t zero_if_off(uint64_t value)
{
	return value == ENGINE_OFF ? 0 : value;
}

struct sampling engine_start_sampling(struct engine_start start)
{
	for (const char *option = start.options; option; option = engine_option_next(option))
		(void)engine_start_set(&start, option);
	return (struct sampling){ .interval_ns = zero_if_off(start.interval_ns),
				  .wall_ns = zero_if_off(start.wall_ns),
				  .mem_bytes = zero_if_off(start.mem_bytes) };
}
