/* Limit on regular expressions, which the C library could compile for hours. */
#include "decoder/commands/args.h"

#include <stdlib.h>
#include <string.h>

#define REGEX_LENGTH_MAX  1024
#define REGEX_REPEATS_MAX 5000

/* Returns the end of the bracket expression at P: its ']', or the last character. */
static const char *find_bracket_end(const char *p)
{
	char kind;

	p += p[1] == '^' ? 2 : 1;
	for (p += *p == ']'; *p && *p != ']'; p++) {
		if (*p != '[' || !p[1] || !strchr(".=:", p[1]))
			continue;
		for (kind = p[1], p += 2; *p && (*p != kind || p[1] != ']'); p++)
			;
		p += *p ? 1 : -1;
	}
	return *p ? p : p - 1;
}

/* Returns how often the C library copies the expression before the repetition at P. */
static double repetition_copies(const char *p, bool of_group)
{
	unsigned long bound;
	char *end;

	if (*p != '{')
		return of_group ? 4 : 1;
	bound = strtoul(p + 1, &end, 10);
	if (*end == ',' && end[1] != '}')
		bound = strtoul(end + 1, NULL, 10);
	return (bound > 1 ? (double)bound : 1) * (of_group ? 4 : 1);
}

/* The C library expands x{1,255}, and more than doubles a repeated group. Nested repetitions could fill the
 * memory, or take hours: "x?++++++++++++++++" is compiled for 54 s in 1.5 GB before it fails, and three nested
 * {1,255} need more than 2 GB (glibc 2.36). Repeated repetitions like "x?++" have no meaning (POSIX, "Regular
 * Expressions", ERE Special Characters), so they are rejected. A wrapper may pass expressions from a form, so
 * the command must not hang. */
bool args_regex_is_bounded(const char *text)
{
	bool repeated = false, group = false;
	double all = 1;

	if (strlen(text) > REGEX_LENGTH_MAX)
		return false;
	for (const char *p = text; *p; p++) {
		if (strchr("+*?{", *p)) {
			if (repeated)
				return false;
			all *= repetition_copies(p, group);
			repeated = true;
			p += *p == '{' ? strcspn(p, "}") : 0;
			if (!*p)
				break; /* regcomp(3) reports it */
			continue;
		}
		repeated = false;
		group = *p == ')';
		if (*p == '[')
			p = find_bracket_end(p);
		else if (*p == '\\' && p[1])
			p++;
	}
	return all <= REGEX_REPEATS_MAX;
}
