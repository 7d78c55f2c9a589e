/* Option table for display: by `asprof-agent options`, in docs/reference/settings.md and the man page, and in messages
 * about wrong names and values. */
#ifndef CORE_OPTIONS_OPTION_VIEW_H
#define CORE_OPTIONS_OPTION_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/options/option_value.h"

#define OPTION_NAME_MAX 48

/* Displayed columns of a row. */
struct option_view {
	char name[OPTION_NAME_MAX];       /* with the prefix */
	char accepts[OPTION_EXPECTS_MAX]; /* "a duration such as 10ms (100us to 1h), or off" */
	const char *fallback;             /* the default as text, "" where unset */
	const char *help;                 /* one sentence, code in `backquotes` */
	bool built;                       /* false: accepted, but not supported yet */
	bool secret;                      /* the value is not to be shown */
	bool url;                         /* the value is displayed by show_url() */
};

/* Get row INDEX, in the order of the documentation. False past the end. */
bool option_row(size_t index, struct option_view *view);

/* Get the row of NAME, with or without the prefix. False when there is none. */
bool option_find(const char *name, struct option_view *view);

/* Get the row whose name is most similar to NAME, an unknown name with the prefix. False when none is similar. */
bool option_nearest(const char *name, struct option_view *nearest);

/* Parse VALUE for option NAME, with or without the prefix. Returns 0, or -EINVAL with a line in PROBLEM. For
 * command-line switches that set variables. */
int option_check(const char *name, const char *value, char problem[OPTION_PROBLEM_MAX]);

#endif
