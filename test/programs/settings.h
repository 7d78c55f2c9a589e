/* Shared by the programs that compare settings of the environment: reading the settings, and the
 * order statistics of the results. */
#ifndef TEST_PROGRAMS_SETTINGS_H
#define TEST_PROGRAMS_SETTINGS_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SETTINGS_MAX  8
#define VARIABLES_MAX 15

struct setting {
	char *label;
	char *environment[VARIABLES_MAX + 1];
};

/* LABEL:VAR=value,VAR=value; TEXT is modified and stays in use. */
static inline void setting_read(struct setting *s, char *text)
{
	char *variable;
	size_t n = 0;

	s->label = strsep(&text, ":");
	while (n < VARIABLES_MAX && (variable = strsep(&text, ",")))
		s->environment[n++] = variable;
}

static inline double clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The quantile SHARE; sorts VALUES. */
static inline double quantile(double *values, size_t count, double share)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[(size_t)((double)(count - 1) * share + 0.5)];
}

#endif
