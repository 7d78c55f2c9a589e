/* Dates of the Gregorian calendar, in UTC. */
#include "core/date.h"

#define SECONDS_A_DAY 86400

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
static void split_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
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

void date_of_ms(struct date *out, uint64_t ms)
{
	int64_t seconds = (int64_t)(ms / 1000), year, month, day;
	unsigned int rest = (unsigned int)(seconds % SECONDS_A_DAY);

	split_days(seconds / SECONDS_A_DAY, &year, &month, &day);
	out->year = (unsigned int)year % 10000;
	out->month = (unsigned int)month;
	out->day = (unsigned int)day;
	out->hour = rest / 3600;
	out->minute = rest / 60 % 60;
	out->second = rest % 60;
}

int64_t date_seconds(const struct date *d)
{
	return days_of(d->year, d->month, d->day) * SECONDS_A_DAY + (int64_t)d->hour * 3600 +
	       d->minute * 60 + d->second;
}
