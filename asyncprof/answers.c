/* What async-profiler tells of itself. */
#include "asyncprof/answers.h"

#include <stdio.h>
#include <string.h>

/* The rest of a longer answer is cut. */
#define ANSWER_MAX 8192

/* Not an argument, as asprof_execute's callback has no context of its own. */
static struct {
	size_t length;
	char text[ANSWER_MAX + 1];
} answer;

static void take(const char *text, size_t length)
{
	size_t room = ANSWER_MAX - answer.length;

	length = length < room ? length : room;
	memcpy(answer.text + answer.length, text, length);
	answer.length += length;
}

static bool ask(const struct engine *engine, const char *question)
{
	answer.length = 0;
	if (engine->execute(question, take))
		return false; /* older ones do not have it */
	answer.text[answer.length] = '\0';
	return true;
}

/* The number on the line "NAME number"; 0 where there is no such line. */
static uint64_t number(const char *name)
{
	const char *line = answer.text;
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

bool answers_counts(const struct engine *engine, struct engine_counts *counts)
{
	if (!ask(engine, "metrics"))
		return false;
	*counts = (struct engine_counts){
		.taken = number("samples_total"),
		.lost = number("samples_skipped_total"),
		.memory_kb = number("mem_calltracestorage_kb") + number("mem_flightrecorder_kb"),
	};
	return true;
}

void answers_version(const struct engine *engine, char *text, size_t size)
{
	if (ask(engine, "version"))
		snprintf(text, size, "%.*s", (int)strcspn(answer.text, "\n"), answer.text);
}
