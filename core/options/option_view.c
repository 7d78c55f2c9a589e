/* Option table for display. */
#include "core/options/option_view.h"

#include <errno.h>
#include <string.h>

#include "core/format.h"
#include "core/options/option_table.h"
#include "core/text/edit_distance.h"

static void view_fill(const struct option *option, struct option_view *view)
{
	format_text(view->name, sizeof(view->name), "%s%s", OPTION_PREFIX, option->name);
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
	view_fill(&option_table[index], view);
	return true;
}

bool option_find(const char *name, struct option_view *view)
{
	const struct option *option = option_lookup(name);

	if (option)
		view_fill(option, view);
	return option;
}

/* True when one name begins with the other and an underscore: CPU of CPU_INTERVAL, LOG of LOG_LEVEL. */
static bool is_word_prefix(const char *name, const char *known)
{
	size_t length = strlen(name), known_length = strlen(known);
	size_t least = length < known_length ? length : known_length;

	return least > sizeof(OPTION_PREFIX) && !strncmp(name, known, least) &&
	       (name[least] == '_' || known[least] == '_');
}

bool option_nearest(const char *name, struct option_view *nearest)
{
	size_t distance, best, length = strlen(name);
	struct option_view row;
	bool found = false;

	if (length >= OPTION_NAME_MAX)
		return false;
	/* A third of the letters may be wrong; with more errors any option could be meant. */
	best = (length - (sizeof(OPTION_PREFIX) - 1)) / 3 + 1;
	for (size_t i = 0; option_row(i, &row); i++) {
		distance = edit_distance(name, row.name);
		if (distance >= best && (found || !is_word_prefix(name, row.name)))
			continue;
		best = distance < best ? distance : best;
		*nearest = row;
		found = true;
	}
	return found;
}

int option_check(const char *name, const char *value, char problem[OPTION_PROBLEM_MAX])
{
	const struct option *option = option_lookup(name);
	union option_value parsed;

	if (!option) {
		format_text(problem, OPTION_PROBLEM_MAX, "there is no option %.64s", name);
		return -EINVAL;
	}
	return option_parse(option, value, &parsed) ? option_complain(option, value, problem) : 0;
}
