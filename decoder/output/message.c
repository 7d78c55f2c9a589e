/* Messages of the command on stderr. */
#include "decoder/output/message.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"

bool message_disabled;

#define PRINTED_MAX 512

/* Hashes of printed messages. A command may read its files several times and find the same damage each time.
 * After PRINTED_MAX messages the oldest hash is replaced, so an old message may be printed twice. */
static uint64_t printed_hashes[PRINTED_MAX];
static unsigned printed_count;
static pthread_mutex_t printed_lock = PTHREAD_MUTEX_INITIALIZER;

/* FNV-1a. 0 marks an empty entry, so 0 becomes 1. */
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
	for (unsigned i = 0; i < PRINTED_MAX && !found; i++)
		found = printed_hashes[i] == key;
	if (!found)
		printed_hashes[printed_count++ % PRINTED_MAX] = key;
	pthread_mutex_unlock(&printed_lock);
	return found;
}

void message_print(const char *format, ...)
{
	char line[4400]; /* a path and a sentence */
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

void print_clean(const char *format, ...)
{
	bool is_line = *format && format[strlen(format) - 1] == '\n';
	char *text;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	text_clean(text, (size_t)length - is_line);
	fwrite(text, 1, (size_t)length, stdout);
	free(text);
}

void print_clean_lines(void *data, size_t length)
{
	text_clean_lines(data, length);
	fwrite(data, 1, length, stdout);
}

void message_print_damage(const char *file, const struct jfr_error *error)
{
	char key[4200];

	snprintf(key, sizeof(key), "damage of %s", file);
	if (!message_was_printed(key))
		message_print("%s: offset %" PRIu64 ": %s", file, error->offset,
			      error->what ? error->what : "damaged");
}
