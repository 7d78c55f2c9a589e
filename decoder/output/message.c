/* What a command tells its user on stderr. */
#include "decoder/output/message.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "profile/basics/text.h"

bool message_disabled;

#define SAID_MAX 512

/* Hashes of what was said. A command may read its files more than once, and each time meet what is
 * wrong with them. (Beyond SAID_MAX lines some may come again.) */
static uint64_t said[SAID_MAX];
static unsigned warned_count;
static pthread_mutex_t printed_lock = PTHREAD_MUTEX_INITIALIZER;

/* FNV-1a; 0 stands for none. */
static uint64_t hash_text(const char *text)
{
	uint64_t sum = 0xCBF29CE484222325u;

	for (; *text; text++)
		sum = (sum ^ (uint8_t)*text) * 0x100000001B3u;
	return sum ? sum : 1;
}

static bool message_was_printed(const char *line)
{
	uint64_t key = hash_text(line);
	bool found = false;

	pthread_mutex_lock(&printed_lock);
	for (unsigned i = 0; i < SAID_MAX && !found; i++)
		found = said[i] == key;
	if (!found)
		said[warned_count++ % SAID_MAX] = key;
	pthread_mutex_unlock(&printed_lock);
	return found;
}

void say(const char *format, ...)
{
	char line[4400]; /* a path and some words */
	va_list args;

	if (message_disabled)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_clean_string(line);
	if (!message_was_printed(line))
		fprintf(stderr, "asprof-agent: %s\n", line);
}

void message_print_damage(const char *file, const struct jfr_error *error)
{
	char key[4200];

	snprintf(key, sizeof(key), "damage of %s", file);
	if (!message_was_printed(key))
		say("%s: offset %" PRIu64 ": %s", file, error->offset,
		    error->what ? error->what : "damaged");
}
