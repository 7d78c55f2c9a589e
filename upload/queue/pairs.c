/* "key=value,…" as OpenTelemetry's variables have it. */
#include "upload/queue/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int pairs_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void pairs_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		int high = *from == '%' ? pairs_hex_digit(from[1]) : -1;
		int low = high >= 0 ? pairs_hex_digit(from[2]) : -1;

		if (low >= 0 && (high || low)) {
			*to++ = (char)(high << 4 | low);
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static char *ini_trim(char *text)
{
	size_t length;

	while (*text == ' ' || *text == '\t')
		text++;
	length = strlen(text);
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	text[length] = '\0';
	return text;
}

int pairs_each(const char *text, bool decode,
	       int (*each)(void *arg, const char *key, const char *value), void *arg)
{
	char *copy = strdup(text), *rest = copy, *pair;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (pair = strsep(&rest, ","))) {
		char *equals = strchr(pair, '=');
		char *key, *value;

		if (!equals)
			continue;
		*equals = '\0';
		key = ini_trim(pair);
		value = ini_trim(equals + 1);
		if (decode) {
			pairs_decode(key);
			pairs_decode(value);
		}
		if (*key)
			err = each(arg, key, value);
	}
	/* strsep has cut it up: its end is not where the first NUL is. */
	if (copy)
		explicit_bzero(copy, strlen(text));
	free(copy);
	return err;
}
