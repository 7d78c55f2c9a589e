/* The names that reports are given: "{executable}_{pid}_{time}.jfr". */
#include "upload/name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_A_DAY 86400

/* What of an executable's name is kept: 255 less "_", a pid, "_", a time, "-N" and ".jfr". */
#define EXECUTABLE_MAX 200

#define SUFFIX ".jfr"

/* Days since 1970 of a date of the Gregorian calendar. Years are counted from March, so that a
 * leap day comes last: then the months' lengths are 153 days in every five. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t from_march = month > 2 ? month - 3 : month + 9;

	if (month <= 2)
		year--;
	return year * 365 + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5 + day -
	       1 - 719468;
}

/* The date that lies DAYS after 1970-01-01. */
static void date_of(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	int64_t y = 1970 + days / 366, m = 1;

	while (days_of(y + 1, 1, 1) <= days)
		y++;
	while (m < 12 && days_of(y, m + 1, 1) <= days)
		m++;
	*year = y;
	*month = m;
	*day = days - days_of(y, m, 1) + 1;
}

void name_date(struct name_date *out, uint64_t ms)
{
	int64_t seconds = (int64_t)(ms / 1000), year, month, day;
	unsigned int rest = (unsigned int)(seconds % SECONDS_A_DAY);

	date_of(seconds / SECONDS_A_DAY, &year, &month, &day);
	out->year = (unsigned int)year % 10000;
	out->month = (unsigned int)month;
	out->day = (unsigned int)day;
	out->hour = rest / 3600;
	out->minute = rest / 60 % 60;
	out->second = rest % 60;
}

int64_t name_seconds(const struct name_date *d)
{
	return days_of(d->year, d->month, d->day) * SECONDS_A_DAY + (int64_t)d->hour * 3600 +
	       d->minute * 60 + d->second;
}

void name_time(char out[NAME_TIME_SIZE], uint64_t ms)
{
	struct name_date d;

	name_date(&d, ms);
	snprintf(out, NAME_TIME_SIZE, "%04u-%02u-%02uT%02u-%02u-%02uZ", d.year % 10000,
		 d.month % 100, d.day % 100, d.hour, d.minute % 100, d.second % 100);
}

void name_file(char out[NAME_FILE_SIZE], const struct report *report, unsigned int try)
{
	char time[NAME_TIME_SIZE], again[12] = "";

	name_time(time, report->end_ms);
	if (try)
		snprintf(again, sizeof(again), "-%u", try);
	snprintf(out, NAME_FILE_SIZE, "%.*s_%d_%s%s" SUFFIX, EXECUTABLE_MAX, report->executable,
		 (int)report->pid, time, again);
}

/* The digits of PATTERN's 'd's in TEXT as numbers in the order of the runs; every other
 * character stands for itself. */
static bool match_numbers(const char *text, const char *pattern, int64_t *numbers)
{
	bool in_run = false;

	for (; *pattern; pattern++, text++) {
		if (*pattern != 'd') {
			if (*text != *pattern)
				return false;
			in_run = false;
			continue;
		}
		if (!isdigit((unsigned char)*text))
			return false;
		if (!in_run)
			*numbers++ = 0;
		numbers[-1] = numbers[-1] * 10 + (*text - '0');
		in_run = true;
	}
	return true;
}

bool name_parse(const char *name, int64_t *seconds)
{
	static const char time[] = "_dddd-dd-ddTdd-dd-ddZ";
	size_t length = strlen(name), end = length - strlen(SUFFIX), digits;
	int64_t n[6];

	if (length <= strlen(SUFFIX) || strcmp(name + end, SUFFIX) != 0)
		return false;

	/* "-N": only behind the Z of the time, whose own parts end in digits as well. */
	for (digits = 0; digits < end && isdigit((unsigned char)name[end - 1 - digits]);)
		digits++;
	if (digits && digits + 2 <= end && name[end - 1 - digits] == '-' &&
	    name[end - 2 - digits] == 'Z')
		end -= digits + 1;

	if (end < strlen(time) || !match_numbers(name + end - strlen(time), time, n))
		return false;
	end -= strlen(time);
	for (digits = 0; digits < end && isdigit((unsigned char)name[end - 1 - digits]);)
		digits++;
	if (!digits || end - digits < 2 || name[end - 1 - digits] != '_')
		return false; /* no pid, or no executable before it */

	*seconds = days_of(n[0], n[1], n[2]) * SECONDS_A_DAY + n[3] * 3600 + n[4] * 60 + n[5];
	return true;
}
