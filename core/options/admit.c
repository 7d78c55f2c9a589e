/* Is this process one to profile? Decided in the constructor of every process. */
#include "core/options/admit.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

/* The glob is LENGTH bytes of P. One that is longer than any file name matches nothing. */
static bool glob_matches(const char *p, size_t length, const char *executable)
{
	char glob[2 * NAME_MAX];

	if (length >= sizeof(glob))
		return false;
	memcpy(glob, p, length);
	glob[length] = '\0';
	return !fnmatch(glob, executable, 0);
}

bool config_admits(const struct config *config, const char *executable)
{
	const char *p = config->process;
	bool only_out = true, out;
	size_t length;

	if (!strcmp(p, "*"))
		return true;
	for (;; p++) {
		length = strcspn(p, ",");
		out = *p == '!';
		only_out = only_out && (out || !length);
		if (length && glob_matches(p + out, length - out, executable))
			return !out;
		p += length;
		if (!*p)
			return only_out;
	}
}
