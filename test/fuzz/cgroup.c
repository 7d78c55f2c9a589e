/* Any bytes as the contents of /proc/PID/cgroup. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *path;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	path = cgroup_path(text);
	/* After "ID:CONTROLLERS:" of some line, and only the rest of that line. */
	if (path &&
	    (path < text + 2 || path > text + size || path[-1] != ':' || strchr(path, '\n')))
		abort();
	free(text);
	return 0;
}
