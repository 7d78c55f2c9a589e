/* options: every environment variable, its default, its current value and its meaning. The table in docs and the
 * manual page's list are printed from the same rows. */
#include "decoder/commands/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/options/config.h"
#include "core/options/option_view.h"
#include "core/show_url.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/basics/text.h"

static const struct command_option own_options[] = {
	{ .name = "--json", .help = "print JSON" },
	{ .name = "--markdown", .help = "print the table of docs/reference/settings.md" },
	{ .name = "--man", .help = "print the manual page's list" },
	{ .name = NULL },
};

const struct command_option *const options_options[] = {
	own_options,
	NULL,
};

/* Print a value from the environment, control characters replaced. */
static void print_cleaned(const char *value)
{
	char *clean = strdup(value);

	if (clean) {
		text_clean_string(clean);
		fputs(clean, stdout);
	}
	free(clean);
}

/* Returns the variable's value for display, or NULL if it is unset or empty. */
static const char *option_shown_value(const struct option_view *row)
{
	static char url[SHOW_URL_SIZE];
	const char *value = getenv(row->name);

	if (!value || !*value)
		return NULL;
	if (row->url)
		return show_url(url, value);
	return row->secret ? "(not shown)" : value;
}

static bool option_is_rejected(const struct option_view *row)
{
	const char *value = getenv(row->name);
	char problem[OPTION_PROBLEM_MAX];

	return value && *value && option_check(row->name, value, problem);
}

/* Print TEXT, indented by eight and wrapped before column 80. */
static void print_wrapped(const char *text)
{
	size_t column = 0, length;

	for (; *text; text += length + strspn(text + length, " ")) {
		length = strcspn(text, " ");
		if (column && column + 1 + length > 79) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "        ", (int)length, text);
	}
	putchar('\n');
}

static void option_print_plain(const struct option_view *row)
{
	const char *value = option_shown_value(row);
	char accepts[OPTION_EXPECTS_MAX + 16];

	printf("%s%s", row->name, value ? "=" : "");
	print_cleaned(value ? value : "");
	putchar('\n');
	if (option_is_rejected(row))
		print_wrapped("NOT ACCEPTED: the agent stays off.");
	print_wrapped(row->help);
	snprintf(accepts, sizeof(accepts), "Takes %s.", row->accepts);
	print_wrapped(accepts);
	if (*row->fallback)
		printf("        Default %s.%s\n", row->fallback,
		       row->built ? "" : " Not built yet.");
	else
		printf("        Unset by default.%s\n", row->built ? "" : " Not built yet.");
}

static void print_json_pair(const char *key, const char *value)
{
	printf(", \"%s\": ", key);
	if (value)
		json_string(stdout, value);
	else
		fputs("null", stdout);
}

static void option_print_json(const struct option_view *row)
{
	printf("  {\"name\": \"%s\"", row->name);
	print_json_pair("default", *row->fallback ? row->fallback : NULL);
	print_json_pair("value", option_shown_value(row));
	printf(", \"accepted\": %s", option_is_rejected(row) ? "false" : "true");
	print_json_pair("takes", row->accepts);
	print_json_pair("help", row->help);
	printf(", \"built\": %s}", row->built ? "true" : "false");
}

static void option_print_markdown(const struct option_view *row)
{
	printf("| `%s` | %s%s%s | %s%s |\n", row->name, *row->fallback ? "`" : "", row->fallback,
	       *row->fallback ? "`" : "", row->help, row->built ? "" : " *Not built yet.*");
}

/* Print TEXT for roff: `word` in bold, backslashes and hyphens escaped. */
static void print_man_text(const char *text)
{
	bool quoted = false;

	for (; *text; text++) {
		if (*text == '`')
			fputs((quoted = !quoted) ? "\\fB" : "\\fR", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs(quoted ? "\\-" : "-", stdout);
		else
			putchar(*text);
	}
	putchar('\n');
}

static void option_print_man(const struct option_view *row)
{
	printf(".TP\n.B %s\n", row->name);
	print_man_text(row->help);
	printf("Takes %s.\n", row->accepts);
	if (*row->fallback)
		printf("Default: %s.\n", row->fallback);
	if (!row->built)
		puts("Not built yet.");
}

/* Print a variable that has the agent's prefix but is no option. Its value is not shown, as it might be secret. */
static void print_unknown(const char *name, bool json)
{
	struct option_view near;
	bool known = option_nearest(name, &near);

	if (json) {
		fputs(",\n  {\"name\": ", stdout);
		json_string(stdout, name);
		print_json_pair("nearest", known ? near.name : NULL);
		fputs(", \"known\": false, \"accepted\": false}", stdout);
		return;
	}
	print_cleaned(name);
	puts("\n        NOT KNOWN: it is ignored.");
	if (known)
		printf("        The nearest name is %s.\n", near.name);
}

/* Print all unknown variables. Returns their number. */
static unsigned print_unknowns(bool json)
{
	struct option_view row;
	unsigned count = 0;

	for (char **entry = environ; *entry; entry++) {
		size_t length = strcspn(*entry, "=");
		char *name;

		if (strncmp(*entry, OPTION_PREFIX, sizeof(OPTION_PREFIX) - 1))
			continue;
		name = strndup(*entry, length);
		if (name && !option_find(name, &row)) {
			print_unknown(name, json);
			count++;
		}
		free(name);
	}
	return count;
}

static const struct format {
	const char *name, *head, *between, *tail;
	void (*print)(const struct option_view *row);
	bool checks_environment; /* also check the environment */
} formats[] = {
	{ "", "", "", "", option_print_plain, true },
	{ "--json", "[\n", ",\n", "\n]\n", option_print_json, true },
	{ "--markdown", "| variable | default | meaning |\n|---|---|---|\n", "", "",
	  option_print_markdown, false },
	{ "--man", "", "", "", option_print_man, false },
};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

int cmd_options(int argc, char **argv)
{
	const struct format *format = find_format(argc > 1 ? argv[1] : "");
	unsigned wrong = 0, unknown = 0;
	struct option_view row;

	if (!format || argc > 2) {
		message_print("options: no switch '%s'", argv[argc - 1]);
		return COMMAND_USAGE;
	}
	terminal_start_pager();
	fputs(format->head, stdout);
	for (size_t i = 0; option_row(i, &row); i++) {
		fputs(i ? format->between : "", stdout);
		format->print(&row);
		wrong += option_is_rejected(&row);
	}
	if (format->checks_environment)
		unknown = print_unknowns(*format->between);
	fputs(format->tail, stdout);
	if (!format->checks_environment || (!wrong && !unknown))
		return COMMAND_OK;
	fflush(stdout);
	if (wrong)
		message_print("options: %u value%s not accepted: the agent stays off", wrong,
			      wrong == 1 ? " is" : "s are");
	if (unknown)
		message_print("options: %u variable%s not known, and ignored", unknown,
			      unknown == 1 ? " is" : "s are");
	return wrong ? COMMAND_FAILED : COMMAND_OK;
}
