/* Parser of async-profiler's command output. */
#include "asyncprof/command_output.h"

#include <stdio.h>
#include <string.h>

/* Return the number on the line "NAME number" of OUTPUT; 0 when there is no such line. */
static uint64_t command_output_number(const char *output, const char *name)
{
	const char *line = output;
	size_t length = strlen(name);
	uint64_t value = 0;

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) != 0 || line[length] != ' ')
			continue;
		for (line += length + 1; *line >= '0' && *line <= '9'; line++)
			value = value * 10 + (uint64_t)(*line - '0');
		return value;
	}
	return 0;
}

void command_output_parse_counts(const char *output, struct engine_counts *counts)
{
	*counts = (struct engine_counts){
		.taken = command_output_number(output, "samples_total"),
		.lost = command_output_number(output, "samples_skipped_total"),
		.memory_kb = command_output_number(output, "mem_calltracestorage_kb") +
			     command_output_number(output, "mem_flightrecorder_kb"),
	};
}

void command_output_parse_version(const char *output, char *text, size_t size)
{
	snprintf(text, size, "%.*s", (int)strcspn(output, "\n"), output);
}
