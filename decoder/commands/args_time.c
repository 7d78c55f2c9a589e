/* Parsers of durations, sizes and times. */
#include "decoder/commands/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/units.h"

/* Returns the unit of TEXT; also accepts "min" and "sec", as output and users write them. */
static const struct unit *find_duration_unit(const char *text, size_t length)
{
	if (length == 3 && (!strncmp(text, "min", 3) || !strncmp(text, "sec", 3)))
		length = 1;
	return unit_named(duration_units, text, length);
}

/* Parse "30s", "1m30s" or "1.5h". */
int args_duration(const char *text, uint64_t *ns)
{
	const struct unit *unit;
	double sum = 0, number;
	size_t length;
	char *end;

	if (!*text)
		return -EINVAL;
	while (*text) {
		if ((*text < '0' || *text > '9') && *text != '.')
			return -EINVAL;
		number = strtod(text, &end);
		length = strspn(end, "abcdefghijklmnopqrstuvwxyz");
		unit = find_duration_unit(end, length);
		if (end == text || !unit)
			return -EINVAL;
		sum += number * (double)unit->size;
		text = end + length;
		text += strspn(text, " ");
	}
	if (!(sum >= 0 && sum < 9e18))
		return -EINVAL;
	*ns = (uint64_t)sum;
	return 0;
}

int args_size(const char *text, uint64_t *bytes)
{
	const struct unit *unit;
	char *end;
	double number;

	if ((*text < '0' || *text > '9') && *text != '.')
		return -EINVAL;
	number = strtod(text, &end);
	unit = unit_named(size_units, end, strlen(end));
	if (end == text || !unit || !(number * (double)unit->size < 9e18))
		return -EINVAL;
	*bytes = (uint64_t)(number * (double)unit->size);
	return 0;
}

static int parse_clock_time(const char *text, int64_t *ns)
{
	unsigned hour, minute;
	double second = 0;
	int used = 0;

	if (sscanf(text, "%2u:%2u%n", &hour, &minute, &used) != 2 || !used)
		return -EINVAL;
	text += used;
	if (*text == ':') {
		if (sscanf(text, ":%lf%n", &second, &used) != 1)
			return -EINVAL;
		text += used;
	}
	if (*text == 'Z')
		text++;
	if (*text || hour > 24 || minute > 59 || !(second >= 0 && second < 61))
		return -EINVAL;
	*ns = (int64_t)(hour * 3600 + minute * 60) * 1000000000 + (int64_t)(second * 1e9);
	return 0;
}

/* Add the date DAY to the time of day *NS. */
static int add_date(struct tm *day, int64_t *ns)
{
	int64_t date;

	if (__builtin_mul_overflow((int64_t)timegm(day), 1000000000, &date) ||
	    __builtin_add_overflow(*ns, date, ns))
		return -EINVAL;
	return 0;
}

int args_moment(const char *text, struct moment *moment)
{
	struct tm day = { 0 };
	const char *rest;
	uint64_t ns;
	char *end;

	if (strlen(text) > 64)
		return -EINVAL;
	rest = strptime(text, "%Y-%m-%dT", &day);
	if (rest) {
		moment->kind = MOMENT_ABSOLUTE;
		if (parse_clock_time(rest, &moment->ns))
			return -EINVAL;
		return add_date(&day, &moment->ns);
	}
	if (strchr(text, ':')) {
		moment->kind = MOMENT_DAY;
		return parse_clock_time(text, &moment->ns);
	}
	moment->kind = MOMENT_OFFSET;
	if (strspn(text + (*text == '-'), "0123456789") == strlen(text + (*text == '-'))) {
		errno = 0;
		moment->ns = strtoll(text, &end, 10); /* milliseconds, as in jfrconv */
		if (errno || end == text || llabs(moment->ns) > INT64_MAX / 1000000)
			return -EINVAL;
		if (moment->ns >= 1500000000000)
			moment->kind = MOMENT_ABSOLUTE;
		moment->ns *= 1000000;
		return 0;
	}
	if (args_duration(text + (*text == '-'), &ns) || ns > INT64_MAX)
		return -EINVAL;
	moment->ns = *text == '-' ? -(int64_t)ns : (int64_t)ns;
	return 0;
}
