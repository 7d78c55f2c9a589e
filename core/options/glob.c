/* Matching of names by glob patterns. */
#include "core/options/glob.h"

struct glob {
	const char *at, *end;
};

static bool next_byte_is(const struct glob *glob, size_t ahead, char c)
{
	return (size_t)(glob->end - glob->at) > ahead && glob->at[ahead] == c;
}

/* Read one byte of a set, possibly after a backslash. */
static unsigned char set_read_byte(struct glob *glob)
{
	if (*glob->at == '\\' && glob->end - glob->at > 1)
		glob->at++;
	return (unsigned char)*glob->at++;
}

/* Match C against the set after a bracket; after an exclamation mark the result is inverted. *CLOSED becomes false
 * when the set has no end. */
static bool set_match(struct glob *glob, unsigned char c, bool *closed)
{
	bool inverse = next_byte_is(glob, 0, '!') || next_byte_is(glob, 0, '^'), found = false,
	     first = true;
	unsigned char low, high;

	glob->at += inverse;
	for (; glob->at < glob->end && (first || *glob->at != ']'); first = false) {
		low = high = set_read_byte(glob);
		if (next_byte_is(glob, 0, '-') && glob->end - glob->at > 1 &&
		    !next_byte_is(glob, 1, ']')) {
			glob->at++;
			high = set_read_byte(glob);
		}
		found |= low <= c && c <= high;
	}
	*closed = glob->at < glob->end;
	glob->at++;
	return found != inverse;
}

/* Match C against the next element of GLOB, which is not a star, and move past the element. */
static bool element_match(struct glob *glob, char c)
{
	struct glob set = { glob->at + 1, glob->end };
	bool closed, found;

	if (*glob->at == '[') {
		found = set_match(&set, (unsigned char)c, &closed);
		if (closed) {
			glob->at = set.at;
			return found;
		}
	}
	if (*glob->at == '?') {
		glob->at++;
		return true;
	}
	if (*glob->at == '\\' && glob->end - glob->at > 1)
		glob->at++;
	return *glob->at++ == c;
}

/* Backtracking needs only the last of several stars. */
bool glob_matches(const char *text, size_t length, const char *name)
{
	struct glob glob = { text, text + length }, after_star = { 0 };
	const char *from = name;

	while (*name) {
		if (next_byte_is(&glob, 0, '*')) {
			glob.at++;
			after_star = glob;
			from = name;
		} else if (glob.at < glob.end && element_match(&glob, *name)) {
			name++;
		} else if (after_star.at) {
			glob = after_star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (next_byte_is(&glob, 0, '*'))
		glob.at++;
	return glob.at == glob.end;
}
