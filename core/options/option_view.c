/* The rows of the table of options, as others see them. */
#include "core/options/option_view.h"

#include <errno.h>
#include <string.h>

#include "core/format.h"
#include "core/options/option_table.h"

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

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein's distance between NAME and KNOWN, which are shorter than OPTION_NAME_MAX. */
static size_t edit_distance(const char *name, const char *known)
{
	size_t row[OPTION_NAME_MAX], diagonal, above;

	for (size_t j = 0; j <= strlen(known); j++)
		row[j] = j;
	for (size_t i = 1; name[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; known[j - 1]; j++) {
			above = row[j];
			row[j] = min3(row[j - 1] + 1, above + 1,
				      diagonal + (name[i - 1] != known[j - 1]));
			diagonal = above;
		}
	}
	return row[strlen(known)];
}

/* NAME is KNOWN up to a word: CPU of CPU_INTERVAL, LOG of LOG_LEVEL. */
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
	/* A third of the letters may be wrong: with more it might be meant for anything. */
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
