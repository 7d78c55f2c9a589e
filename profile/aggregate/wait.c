/* States of sampled threads, and what waiting threads wait for. */
#include "profile/aggregate/wait.h"

#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"

/* Returns the value of KEY in LINES, with its LENGTH; NULL if there is none. */
static const char *find_value(const char *lines, const char *key, size_t *length)
{
	const char *value = text_find_line(lines, key, true);

	*length = value ? strcspn(value, "\n") : 0;
	return *length ? value : NULL;
}

/* Returns the index of the value of KEY in TABLE, or 0. */
static uint32_t parse_name(const char *lines, const char *key, const char *const *table,
			   uint32_t count)
{
	size_t length;
	const char *value = find_value(lines, key, &length);

	for (uint32_t i = 1; value && i < count; i++)
		if (strlen(table[i]) == length && !strncmp(table[i], value, length))
			return i;
	return 0;
}

static uint32_t parse_text(const char *lines, const char *key, struct intern *names)
{
	size_t length;
	const char *value = find_value(lines, key, &length);

	return value ? intern(names, value, length) : 0;
}

void wait_parse(struct wait *wait, const char *lines, struct intern *names)
{
	size_t length;
	const char *owner = find_value(lines, "owner", &length);

	*wait = (struct wait){
		.state = parse_name(lines, "state", jfr_wait_states, WAIT_STATES),
		.cause = parse_name(lines, "cause", jfr_wait_causes, WAIT_CAUSES),
		.call = parse_text(lines, "call", names),
		.on = parse_text(lines, "on", names),
		.owner = owner ? (uint32_t)strtoul(owner, NULL, 10) : 0,
	};
}
