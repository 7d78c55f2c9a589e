/* 95% confidence intervals of shares. */
#include "profile/basics/confidence.h"

#include <math.h>

/* Two-sided 95% quantile of the normal distribution. */
#define Z 1.959964

struct interval interval_of(double part, double whole, double effective)
{
	double share = whole > 0 ? part / whole : 0, divisor, center, half;

	if (!(whole > 0) || isinf(effective) || !(effective > 0))
		return (struct interval){ share, share };
	divisor = 1 + Z * Z / effective;
	center = (share + Z * Z / (2 * effective)) / divisor;
	half = Z / divisor *
	       sqrt(fmax(share * (1 - share), 0) / effective + Z * Z / (4 * effective * effective));
	return (struct interval){ fmax(center - half, 0), fmin(center + half, 1) };
}

/* As hypot(), which in glibc 2.35 has a new version: the command would need that. */
static double distance(double a, double b)
{
	return sqrt(a * a + b * b);
}

struct interval interval_of_change(double now, const struct interval *now_in, double was,
				   const struct interval *was_in)
{
	return (struct interval){ now - was - distance(now - now_in->low, was_in->high - was),
				  now - was + distance(now_in->high - now, was - was_in->low) };
}

void interval_json(FILE *out, const struct interval *interval)
{
	fprintf(out, "[%.6f,%.6f]", interval->low, interval->high);
}

void interval_json_effective(FILE *out, const char *name, double effective)
{
	if (isinf(effective))
		fprintf(out, "\"%s\":null", name);
	else
		fprintf(out, "\"%s\":%.3f", name, effective);
}

int interval_digits(const struct interval *interval)
{
	double points = 100 * (interval->high - interval->low);

	return points > 1 ? 0 : points > 0.1 ? 1 : 2;
}

const char *interval_share(char *text, size_t size, double share, const struct interval *interval)
{
	snprintf(text, size, "%.*f%%", interval_digits(interval), 100 * share);
	return text;
}

const char *interval_text(char *text, size_t size, const struct interval *interval)
{
	*text = '\0';
	if (interval_digits(interval) == 0)
		snprintf(text, size, "%.0f-%.0f%%", floor(100 * interval->low),
			 ceil(100 * interval->high));
	return text;
}

const char *interval_change_text(char *text, size_t size, const struct interval *interval)
{
	*text = '\0';
	if (interval_digits(interval) == 0)
		snprintf(text, size, "%+.0f..%+.0f", floor(100 * interval->low),
			 ceil(100 * interval->high));
	return text;
}
