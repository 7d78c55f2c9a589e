/* What a start command asks of the builtin engine. */
#include "engine/collect/start_request.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

/* A number and one of UNITS up to LARGEST, or the smallest where none is said; below ENGINE_OFF. */
static bool read_quantity(uint64_t *out, const char *text, const struct unit *units,
			  uint64_t largest)
{
	const struct unit *unit;
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9') /* strtoull(3) takes signs and spaces */
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno)
		return false;
	unit = *end ? unit_named(units, end, strlen(end)) : units;
	return unit && unit->size <= largest && !__builtin_mul_overflow(number, unit->size, out) &&
	       *out != ENGINE_OFF;
}

/* "100000000", "10ms", "500us", "1s", as async-profiler takes them. */
static bool read_interval(uint64_t *ns, const char *text)
{
	return read_quantity(ns, text, duration_units, SECONDS(1)) && *ns >= START_INTERVAL_MIN_NS;
}

static bool read_bytes(uint64_t *bytes, const char *text)
{
	return read_quantity(bytes, text, size_units, GIB(1));
}

static bool take_event(struct engine_start *r, const char *value)
{
	r->cpu = !strcmp(value, "cpu");
	return r->cpu || !strcmp(value, "wall");
}

static bool take_interval(struct engine_start *r, const char *value)
{
	return read_interval(&r->interval_ns, value);
}

static bool take_wall(struct engine_start *r, const char *value)
{
	return read_interval(&r->wall_ns, value);
}

static bool take_mem(struct engine_start *r, const char *value)
{
	return read_bytes(&r->mem_bytes, value);
}

static bool spool_take_file(struct engine_start *r, const char *value)
{
	return (size_t)snprintf(r->file, sizeof(r->file), "%s", value) < sizeof(r->file);
}

/* Any way to walk the stack is understood; there is one, which does what each is for. */
static bool take_cstack(struct engine_start *r, const char *value)
{
	return (size_t)snprintf(r->cstack, sizeof(r->cstack), "%s", value) < sizeof(r->cstack);
}

/* There is no other format. */
static bool take_jfr(struct engine_start *r, const char *value)
{
	(void)r;
	return !*value;
}

static const struct {
	const char *key;
	bool (*take)(struct engine_start *r, const char *value);
} start_options[] = {
	{ "event", take_event },     { "interval", take_interval }, { "wall", take_wall },
	{ "file", spool_take_file }, { "cstack", take_cstack },     { "jfr", take_jfr },
	{ "nativemem", take_mem },
};

static int take_option(struct engine_start *r, char *option, asprof_writer_t output,
		       char problem[START_PROBLEM_MAX])
{
	char *value = strchr(option, '=');
	char line[256];

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < sizeof(start_options) / sizeof(start_options[0]); i++) {
		if (strcmp(option, start_options[i].key) != 0)
			continue;
		if (start_options[i].take(r, value ? value : ""))
			return 0;
		snprintf(problem, START_PROBLEM_MAX,
			 "the builtin engine cannot take the value of %s", option);
		return -EINVAL;
	}
	snprintf(line, sizeof(line), "the builtin engine has no option %s; it is ignored\n",
		 option);
	output(line, strlen(line));
	return 0;
}

int start_request_read(struct engine_start *out, const char *options, asprof_writer_t output,
		       char problem[START_PROBLEM_MAX])
{
	char *copy = strdup(options), *rest = copy, *option;
	int err = 0;

	*out = (struct engine_start){ .cpu = true,
				      .interval_ns = ENGINE_OFF,
				      .wall_ns = ENGINE_OFF,
				      .mem_bytes = ENGINE_OFF,
				      .cstack = "dwarf" };
	if (!copy) {
		snprintf(problem, START_PROBLEM_MAX, "cannot start: out of memory");
		return -ENOMEM;
	}
	while (!err && (option = strsep(&rest, ",")))
		if (*option)
			err = take_option(out, option, output, problem);
	free(copy);
	if (err)
		return err;
	if (!out->cpu) { /* then the interval is the wall clock's */
		out->wall_ns = out->interval_ns != ENGINE_OFF ? out->interval_ns : out->wall_ns;
		out->interval_ns = ENGINE_OFF;
	}
	if (!out->file[0]) {
		snprintf(problem, START_PROBLEM_MAX, "cannot start: no file= to write to");
		return -EINVAL;
	}
	return 0;
}
