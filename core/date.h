/* Dates of the Gregorian calendar, in UTC. Any thread of the agent. */
#ifndef CORE_DATE_H
#define CORE_DATE_H

#include <stdint.h>
#include <time.h>

/* Convert MS, milliseconds since 1970, to a date. A year of more than four digits is reduced. */
static inline struct tm date_of_ms(uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm date = { 0 };

	gmtime_r(&seconds, &date);
	date.tm_year %= 8000;
	return date;
}

/* Return the seconds from 1970 to a date: year, month, day, hour, minute, second. Month and day begin at 1. */
static inline int64_t date_seconds(const unsigned int n[6])
{
	struct tm date = { .tm_year = (int)n[0] - 1900,
			   .tm_mon = (int)n[1] - 1,
			   .tm_mday = (int)n[2],
			   .tm_hour = (int)n[3],
			   .tm_min = (int)n[4],
			   .tm_sec = (int)n[5] };

	return timegm(&date);
}

#endif
