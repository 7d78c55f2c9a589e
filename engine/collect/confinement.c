/* Detection of a seccomp filter that the program adds. */
#include "engine/collect/confinement.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/process/proc_file.h"

static unsigned value_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? (unsigned)strtoul(line + strlen(name), NULL, 10) : 0;
}

unsigned confinement_parse(const char *text)
{
	unsigned filters = value_of(text, "\nSeccomp_filters:");

	return filters ? filters : value_of(text, "\nSeccomp:");
}

bool confinement_has_grown(void)
{
	static bool is_known;
	static unsigned first;
	char text[4096];
	unsigned now;

	if (proc_file_read_of(getpid(), "status", text, sizeof(text)) <= 0)
		return false;
	now = confinement_parse(text);
	if (!is_known)
		first = now;
	is_known = true;
	return now > first;
}
