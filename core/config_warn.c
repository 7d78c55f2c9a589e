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

/* NAME is KNOWN up to a word: CPU of CPU_INTERVAL, LOG of LOG_LEVEL. */
static bool is_part(const char *name, const char *known)
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
		if (distance >= best && (found || !is_part(name, row.name)))
			continue;
		best = distance < best ? distance : best;
		*nearest = row;
		found = true;
	}
	return found;
}

static void warn_entry(const char *entry)
{
	size_t length = strcspn(entry, "=");
	const char *value = entry[length] ? entry + length + 1 : "";
	char name[OPTION_NAME_MAX];
	struct option_view row;

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, entry, length);
	name[length] = '\0';
	if (!option_find(name, &row)) {
		if (option_nearest(name, &row))
			log_warn("%s is not known and is ignored; the nearest name is %s", name,
				 row.name);
		else
			log_warn("%s is not known and is ignored", name);
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
