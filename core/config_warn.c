/* Warns of variables with our prefix that are no option, and of options that are not built yet. */
#include <string.h>

#include "core/option_table.h"

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

/* The row whose name is nearest to NAME. */
static void find_nearest(const char *name, struct option_view *nearest)
{
	struct option_view row;
	size_t distance, best = SIZE_MAX;

	for (size_t i = 0; option_row(i, &row); i++) {
		distance = edit_distance(name, row.name);
		if (distance < best) {
			best = distance;
			*nearest = row;
		}
	}
}

static void warn_entry(const char *entry)
{
	size_t length = strcspn(entry, "=");
	const char *value = entry[length] ? entry + length + 1 : "";
	char name[OPTION_NAME_MAX];
	struct option_view row;

	if (length >= sizeof(name)) /* the rest cannot make it any nearer */
		length = sizeof(name) - 1;
	memcpy(name, entry, length);
	name[length] = '\0';
	if (!option_find(name, &row)) {
		find_nearest(name, &row);
		log_warn("%s is not known and is ignored; the nearest name is %s", name, row.name);
	} else if (*value && !row.built && strcmp(value, row.fallback)) {
		log_warn("%s is set, but this version cannot do it yet", name);
	}
}

void config_warn(char *const *environment)
{
	for (; *environment; environment++)
		if (option_unprefixed(*environment))
			warn_entry(*environment);
}
