/* Distance of two short words, for suggestions after a typing error. */
#ifndef CORE_TEXT_EDIT_DISTANCE_H
#define CORE_TEXT_EDIT_DISTANCE_H

#include <stddef.h>

/* Words that are at least this long have no distance. */
#define EDIT_DISTANCE_LENGTH_MAX 64

/* Levenshtein distance of A and B: the number of letters to add, remove or replace. SIZE_MAX if one of them is too
 * long. */
size_t edit_distance(const char *a, const char *b);

#endif
