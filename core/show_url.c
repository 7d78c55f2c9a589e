/* URLs for logs and status output, without secrets. */
#include "core/show_url.h"

#include <string.h>

#include "core/format.h"

const char *show_url(char out[SHOW_URL_SIZE], const char *text)
{
	const char *rest = strstr(text, "://"), *at;
	int scheme = 0;

	if (rest && strcspn(text, "/?#@") == (size_t)(rest - text) + 1)
		scheme = (int)(rest - text) + 3;
	rest = text + scheme;
	/* Use the last one: a password may contain an unencoded '@'. */
	at = strrchr(rest, '@');
	if (at)
		rest = at + 1;
	format_text(out, SHOW_URL_SIZE, "%.*s%.*s", scheme, text, (int)strcspn(rest, "?#"), rest);
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return out;
}
