/* Decides whether this process is profiled. */
#include "core/options/admit.h"

#include <string.h>

#include "core/options/glob.h"

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
