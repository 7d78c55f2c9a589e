/* Words for shell completion. */
#include "decoder/commands/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/live/live_endpoint.h"
#include "profile/aggregate/wait.h"

const struct command *command_find(const struct command *commands, size_t rows, const char *name)
{
	for (size_t i = 0; i < rows; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* Print the parts of "[first|SECOND|third ...]" that are words and not placeholders. */
static void print_alternatives(const char *text)
{
	size_t length;

	for (; *text; text += length) {
		text += strspn(text, "[]| ");
		length = strcspn(text, "[]| ");
		if (islower((unsigned char)*text))
			printf("%.*s\n", (int)length, text);
	}
}

static void print_switches(const struct command *command)
{
	for (const struct command_option *const *table = command->options; *table; table++)
		for (const struct command_option *o = *table; o->name; o++)
			puts(o->name);
}

static void print_values(const struct command_option *option)
{
	if (strcmp(option->argument, "CAUSE") != 0) {
		print_alternatives(option->argument);
		return;
	}
	for (uint32_t i = 0; i < WAIT_CAUSES; i++)
		puts(jfr_wait_causes[i]);
}

static void print_processes(void)
{
	pid_t *pids = NULL;
	size_t count = live_endpoint_list_processes(&pids);

	for (size_t i = 0; i < count; i++)
		printf("%d\n", (int)pids[i]);
	free(pids);
}

/* Returns the index of the command after a process ID, like `top` in `heap 1234 top`; 0 if there is none. */
static int find_reader(const struct command *commands, size_t rows, char **words, int count)
{
	for (int i = 2; i < count; i++)
		if (command_find(commands, rows, words[i]))
			return i;
	return 0;
}

void complete_print(const struct command *commands, size_t rows, char **words, int count)
{
	const struct command *command = count ? command_find(commands, rows, words[0]) : NULL;
	const struct command_option *last;
	const char *readers;
	int reader;

	if (!count || !strcmp(words[0], "help")) {
		for (size_t i = 0; i < rows; i++)
			puts(commands[i].name);
		return;
	}
	if (!command)
		return;
	readers = strstr(command->arguments, "[top|");
	reader = readers ? find_reader(commands, rows, words, count) : 0;
	if (reader) {
		complete_print(commands, rows, words + reader, count - reader);
		return;
	}
	last = command_find_switch(command, words[count - 1]);
	if (last && last->argument) {
		print_values(last);
		return;
	}
	if (count == 1 && strstr(command->arguments, "PID"))
		print_processes();
	else if (readers)
		print_alternatives(readers);
	print_switches(command);
}
