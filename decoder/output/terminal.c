/* Output on a terminal: colours and a pager. */
#include "decoder/output/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/environment.h"
#include "profile/basics/text.h"

/* Options of less: quit if the text fits the screen, pass colours, leave the text on the screen. */
#define LESS_OPTIONS "FRX"

#define PAGER_WORDS 16

static pid_t pager;

/* Whether standard output is a terminal that supports more than lines. The pager's pipe does not change the answer. */
static bool is_terminal(void)
{
	static int known = -1;
	const char *type = getenv("TERM");

	if (known < 0)
		known = isatty(STDOUT_FILENO) == 1 && type && *type && strcmp(type, "dumb") != 0;
	return known;
}

const char *terminal_style(enum style style)
{
	static const char *const sequences[STYLES] = {
		[STYLE_NONE] = "\033[0m",  [STYLE_HEADING] = "\033[1m", [STYLE_OWN] = "\033[32m",
		[STYLE_STOP] = "\033[31m", [STYLE_NOTE] = "\033[33m",
	};
	const char *no_color = getenv("NO_COLOR");

	return is_terminal() && !(no_color && *no_color) ? sequences[style] : "";
}

/* Wait for the pager, which gets the same signals from the terminal and may go on. */
static void wait_for_pager(void)
{
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

static void on_interrupt(int signal)
{
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	wait_for_pager();
	_exit(128 + signal);
}

/* Start COMMAND, words with spaces between them, with INPUT as its standard input. Returns 0 or an error number. */
static int spawn_pager(const char *command, int input)
{
	char *words = strdup(command), *argv[PAGER_WORDS + 1] = { 0 }, *rest = words;
	char **environment = environment_without_agent(environ); /* the pager is not profiled */
	posix_spawn_file_actions_t actions;
	int err = words && environment ? 0 : ENOMEM;

	for (size_t i = 0; words && i < PAGER_WORDS; i++)
		argv[i] = strtok_r(i ? NULL : words, " ", &rest);
	if (!err && !argv[0])
		err = ENOENT;
	if (!err)
		err = posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
		if (!err)
			err = posix_spawnp(&pager, argv[0], &actions, NULL, argv, environment);
		posix_spawn_file_actions_destroy(&actions);
	}
	free(environment);
	free(words);
	return err;
}

void terminal_start_pager(void)
{
	const char *command = getenv("PAGER");
	int ends[2];

	text_terminal_width(); /* of the terminal, not of the pipe */
	if (pager || !is_terminal() || (command && (!*command || !strcmp(command, "cat"))))
		return;
	setenv("LESS", LESS_OPTIONS, 0);
	if (pipe2(ends, O_CLOEXEC))
		return;
	if (!spawn_pager(command ? command : "less", ends[0])) {
		dup2(ends[1], STDOUT_FILENO);
		if (isatty(STDERR_FILENO))
			dup2(ends[1], STDERR_FILENO);
		/* Messages stand where they were printed. */
		setvbuf(stdout, NULL, _IOLBF, 0);
		signal(SIGINT, on_interrupt);
	} else {
		pager = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

void terminal_end_pager(void)
{
	if (!pager)
		return;
	signal(SIGINT, SIG_IGN);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	wait_for_pager();
}
