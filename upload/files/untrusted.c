/* Checks of untrusted words. */
#include "upload/files/untrusted.h"

#include <string.h>

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const struct {
	const char *characters;
	size_t min, max;
	const char *not_at_ends;
} words[] = {
	/* No dots: anyone can own a host "x.elb" at Amazon. */
	[UNTRUSTED_REGION] = { ALNUM "-_", 1, 63, "-_" },
	[UNTRUSTED_BUCKET] = { ALNUM "-_.", 1, 255, "." },
	[UNTRUSTED_ACCOUNT] = { ALNUM "-_", 1, 64, "" },
	[UNTRUSTED_ROLE] = { ALNUM "+=,.@-_", 1, 64, "." },
	[UNTRUSTED_MACHINE] = { ALNUM ":/-_.+=,@", 1, 512, "" },
};

bool untrusted_is_valid(enum untrusted word, const char *text)
{
	size_t length = strlen(text);

	return length >= words[word].min && length <= words[word].max &&
	       strspn(text, words[word].characters) == length &&
	       !strchr(words[word].not_at_ends, text[0]) &&
	       !strchr(words[word].not_at_ends, text[length - 1]) && !strstr(text, "..");
}
