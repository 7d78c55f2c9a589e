/* The table of options, as it is shown: by `asprof-agent options`, in the README and the man page, and
 * where a name or a value is wrong. */
#ifndef CORE_OPTIONS_OPTION_VIEW_H
#define CORE_OPTIONS_OPTION_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/options/option_value.h"

#define OPTION_NAME_MAX 48

/* A row of the table, for those who show it. */
struct option_view {
	char name[OPTION_NAME_MAX];       /* with the prefix */
	char accepts[OPTION_EXPECTS_MAX]; /* "a duration such as 10ms (100us to 1h), or off" */
	const char *fallback;             /* the default as written, "" where unset */
	const char *help;                 /* one sentence, code in `backquotes` */
	bool built;                       /* false: accepted, said to do nothing yet */
	bool secret;                      /* the value is not to be shown */
	bool url;                         /* the value is to be shown by show_url() */
};

/* The table's rows, in the order of the documentation. False past the end. */
bool option_row(size_t index, struct option_view *view);

/* The row of NAME (with or without the prefix). False when there is none. */
bool option_find(const char *name, struct option_view *view);

/* The row whose name is near to NAME, which has the prefix and is none; false where none is. */
bool option_nearest(const char *name, struct option_view *nearest);

/* Parse VALUE as option NAME (with or without the prefix) would: 0, or -EINVAL with a line in
 * PROBLEM. For command-line switches that end up as variables. */
int option_check(const char *name, const char *value, char problem[OPTION_PROBLEM_MAX]);

#endif
