/* The start string: a config in async-profiler's own words. */
#include "core/agent/engine_start.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000u
#define NS_PER_MS 1000000u

/* Milliseconds where they are whole. The least that an option can say is a microsecond. */
static int put_wall(struct buf *out, const char *key, uint64_t ns)
{
	if (ns % NS_PER_MS)
		return buf_printf(out, ",%s=%" PRIu64 "us", key, ns / NS_PER_US);
	return buf_printf(out, ",%s=%" PRIu64 "ms", key, ns / NS_PER_MS);
}

bool start_string_names_event(const struct config *config)
{
	const char *options = config->engine_options;

	for (; options; options = strchr(options, ',')) {
		options += *options == ',';
		if (!strncmp(options, "event=", strlen("event=")))
			return true;
	}
	return false;
}

static int put_events(struct buf *out, const struct config *config)
{
	bool named = start_string_names_event(config); /* a second one would be refused */
	bool cpu = config->cpu_interval_ns != OPTION_OFF;
	bool wall = config->wall_interval_ns != OPTION_OFF;
	int err = 0;

	if (cpu)
		err = buf_printf(out, "%s,interval=%" PRIu64, named ? "" : ",event=cpu",
				 config->cpu_interval_ns);
	else if (wall && !named)
		err = buf_append_string(out, ",event=wall");
	if (!err && wall)
		err = put_wall(out, cpu ? "wall" : "interval", config->wall_interval_ns);
	return err;
}

/* As people write it: 10m, 512k, 5000000. */
static int put_native_mem(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = { "", "k", "m", "g" };
	size_t unit = 0;

	while (bytes && bytes % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(*units)) {
		bytes /= 1024;
		unit++;
	}
	return buf_printf(out, ",nativemem=%" PRIu64 "%s", bytes, units[unit]);
}

int start_string(struct buf *out, const struct config *config, const char *path, bool mem)
{
	int err;

	mem = mem && config->native_mem_bytes != OPTION_OFF;
	if (config->cpu_interval_ns == OPTION_OFF && config->wall_interval_ns == OPTION_OFF && !mem)
		return -EINVAL;
	/* A comma would end the path, and a percent sign begins a pattern of async-profiler's. */
	if (strpbrk(path, ",%"))
		return -EINVAL;

	err = buf_append_string(out, "start");
	if (!err)
		err = put_events(out, config);
	if (!err)
		err = buf_printf(out, ",jfr,cstack=%s,file=%s", config->cstack, path);
	if (!err && mem)
		err = put_native_mem(out, config->native_mem_bytes);
	if (!err && config->engine_options)
		err = buf_printf(out, ",%s", config->engine_options);
	return err;
}

/* Options that are numbers, and the letters that async-profiler looks at behind them: one, in either case. */
static const struct {
	const char *name;
	size_t offset;
	const char *letters;
} quantities[] = {
	{ "interval=", offsetof(struct sampling, interval_ns), "numsbkg" },
	{ "wall=", offsetof(struct sampling, wall_ns), "nums" },
	{ "nativemem=", offsetof(struct sampling, mem_bytes), "bkmg" },
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

/* The number at TEXT, up to a comma. */
static uint64_t parse_quantity(const char *text, const char *letters)
{
	char *end, letter;
	unsigned long long number;
	uint64_t all;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	number = strtoull(text, &end, 0);
	letter = *end >= 'A' && *end <= 'Z' ? (char)(*end - 'A' + 'a') : *end;
	if (errno || (letter && letter != ',' && !strchr(letters, letter)) ||
	    __builtin_mul_overflow(number, unit_bytes_or_ns(letter, letters[0] == 'b'), &all) ||
	    all > INT64_MAX)
		return 0;
	return all;
}

static uint64_t option_is_word(uint64_t option)
{
	return option == OPTION_OFF ? 0 : option;
}

struct sampling builtin_start_sampling(const struct config *config, bool mem)
{
	bool cpu = config->cpu_interval_ns != OPTION_OFF;
	uint64_t wall_ns = option_is_word(config->wall_interval_ns);
	struct sampling sampling = { .interval_ns = cpu ? config->cpu_interval_ns : wall_ns,
				     .wall_ns = cpu ? wall_ns : 0,
				     .mem_bytes =
					     mem ? option_is_word(config->native_mem_bytes) : 0 };
	const char *option = config->engine_options;

	for (; option; option = strchr(option, ',')) {
		option += *option == ',';
		for (size_t i = 0; i < sizeof(quantities) / sizeof(*quantities); i++) {
			size_t length = strlen(quantities[i].name);
			uint64_t value;

			if (strncmp(option, quantities[i].name, length) != 0)
				continue;
			value = parse_quantity(option + length, quantities[i].letters);
			memcpy((char *)&sampling + quantities[i].offset, &value, sizeof(value));
		}
	}
	return sampling;
}
