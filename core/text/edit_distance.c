/* Distance of two short words. */
#include "core/text/edit_distance.h"

#include <stdint.h>
#include <string.h>

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

size_t edit_distance(const char *a, const char *b)
{
	size_t row[EDIT_DISTANCE_LENGTH_MAX], diagonal, above;

	if (strlen(a) >= EDIT_DISTANCE_LENGTH_MAX || strlen(b) >= EDIT_DISTANCE_LENGTH_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= strlen(b); j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; b[j - 1]; j++) {
			above = row[j];
			row[j] = min3(row[j - 1] + 1, above + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[strlen(b)];
}
