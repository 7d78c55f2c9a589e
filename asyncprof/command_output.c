/* What async-profiler tells of itself. */
#include "asyncprof/command_output.h"

#include <stdio.h>
#include <string.h>

#include "core/agent/engine_command.h"

/* The number on the line "NAME number" of ANSWER; 0 where there is no such line. */
static uint64_t command_output_number(const char *answer, const char *name)
{
	const char *line = answer;
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

bool command_output_parse_counts(const struct engine *engine, struct engine_counts *counts)
{
	char *answer;

	if (engine_ask(engine, "metrics", &answer))
		return false; /* older ones do not have it */
	*counts = (struct engine_counts){
		.taken = command_output_number(answer, "samples_total"),
		.lost = command_output_number(answer, "samples_skipped_total"),
		.memory_kb = command_output_number(answer, "mem_calltracestorage_kb") +
			     command_output_number(answer, "mem_flightrecorder_kb"),
	};
	return true;
}

void answers_version(const struct engine *engine, char *text, size_t size)
{
	char *answer;

	if (!engine_ask(engine, "version", &answer))
		snprintf(text, size, "%.*s", (int)strcspn(answer, "\n"), answer);
}
