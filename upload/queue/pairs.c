/* Parser of "key=value,…" lists in OpenTelemetry's variables. */
#include "upload/queue/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/hex.h"

int pairs_percent_byte(const char *text)
{
	int high = *text == '%' ? hex_digit(text[1]) : -1;
	int low = high >= 0 ? hex_digit(text[2]) : -1;

	return low >= 0 ? high << 4 | low : -1;
}

static void pairs_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		int byte = pairs_percent_byte(from);

		if (byte > 0) {
			*to++ = (char)byte;
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static char *pairs_trim(char *text)
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
		key = pairs_trim(pair);
		value = pairs_trim(equals + 1);
		if (decode) {
			pairs_decode(key);
			pairs_decode(value);
		}
		if (*key)
			err = each(arg, key, value);
	}
	/* strsep() has written NULs into the copy, so wipe the original length. */
	if (copy)
		explicit_bzero(copy, strlen(text));
	free(copy);
	return err;
}
