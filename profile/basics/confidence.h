/* 95% confidence intervals of shares that were measured by sampling. */
#ifndef PROFILE_BASICS_CONFIDENCE_H
#define PROFILE_BASICS_CONFIDENCE_H

#include <stddef.h>
#include <stdio.h>

/* Shares of the whole, 0 to 1. */
struct interval {
	double low, high;
};

/* Returns Wilson's score interval of the share PART of WHOLE, with the effective sample size
 * EFFECTIVE (profile_effective()). If EFFECTIVE is infinite, the share is exact and both bounds are
 * equal. */
struct interval interval_of(double part, double whole, double effective);

/* Newcombe's interval of the difference NOW - WAS of two independent shares, whose intervals are NOW_IN and WAS_IN. */
struct interval interval_of_change(double now, const struct interval *now_in, double was,
				   const struct interval *was_in);

/* Returns the significant decimals of a percentage with INTERVAL: 0 if it is wider than a
 * percentage point, 2 if it is at most a tenth of one, else 1. */
int interval_digits(const struct interval *interval);

/* Format SHARE, 0 to 1, with these decimals: "12.3%". Returns TEXT. */
const char *interval_share(char *text, size_t size, double share, const struct interval *interval);

/* Format INTERVAL as "10-14%" if it is wider than a percentage point, else as "". Returns TEXT. */
const char *interval_text(char *text, size_t size, const struct interval *interval);

/* "-5..+12" in points where the interval of a change is wider than a point, else "". */
const char *interval_change_text(char *text, size_t size, const struct interval *interval);

/* "[LOW,HIGH]", a JSON array. */
void interval_json(FILE *out, const struct interval *interval);

/* Write "NAME":EFFECTIVE, a member of a JSON object; null if EFFECTIVE is infinite. */
void interval_json_effective(FILE *out, const char *name, double effective);

#endif
