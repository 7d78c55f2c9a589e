/* Dates of the Gregorian calendar, in UTC. Not by the C library's gmtime_r(), which takes a lock
 * that a fork of the program may catch. Any thread. */
#ifndef CORE_DATE_H
#define CORE_DATE_H

#include <stdint.h>

struct date {
	unsigned int year, month, day; /* month and day from 1 on */
	unsigned int hour, minute, second;
};

/* The date of MS, milliseconds since 1970. */
void date_of_ms(struct date *out, uint64_t ms);

/* Seconds since 1970 of a date. */
int64_t date_seconds(const struct date *date);

#endif
