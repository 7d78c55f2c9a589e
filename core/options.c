/* The rows of the table of options, as others see them. */
#include "core/options.h"

#include <errno.h>
#include <stdio.h>

#include "core/option_table.h"

static void show(const struct option *option, struct option_view *view)
{
	snprintf(view->name, sizeof(view->name), "%s%s", OPTION_PREFIX, option->name);
	option_expects(option, view->accepts, sizeof(view->accepts));
	view->fallback = option->fallback;
	view->help = option->help;
	view->built = !option->unbuilt;
	view->secret = option->secret;
	view->url = option->check == check_url;
}

bool option_row(size_t index, struct option_view *view)
{
	if (index >= OPTION_COUNT)
		return false;
	show(&option_table[index], view);
	return true;
}

bool option_find(const char *name, struct option_view *view)
{
	const struct option *option = option_lookup(name);

	if (option)
		show(option, view);
	return option;
}

int option_check(const char *name, const char *value, char problem[OPTION_PROBLEM_MAX])
{
	const struct option *option = option_lookup(name);
	union option_value parsed;

	if (!option) {
		snprintf(problem, OPTION_PROBLEM_MAX, "there is no option %.64s", name);
		return -EINVAL;
	}
	return option_parse(option, value, &parsed) ? option_complain(option, value, problem) : 0;
}
