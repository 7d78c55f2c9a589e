/* Units of durations and sizes. */
#include "core/units.h"

#include <string.h>

const struct unit duration_units[] = {
	{ "ns", "ns", 1, 0, false },
	{ "us", "us", US(1), US(1), true },
	{ "ms", "ms", MS(1), MS(1), true },
	{ "s", "s", SECONDS(1), SECONDS(1), true },
	{ "m", "min", MINUTES(1), MINUTES(10), true },
	{ "h", "h", HOURS(1), HOURS(2), true },
	{ "d", "d", DAYS(1), DAYS(2), false },
	{ .size = 0 },
};

const struct unit size_units[] = {
	{ "", "B", 1, 0, true },
	{ "k", "KiB", KIB(1), KIB(1), true },
	{ "m", "MiB", MIB(1), MIB(1), true },
	{ "g", "GiB", GIB(1), GIB(1), true },
	{ "t", "TiB", TIB(1), TIB(1), false },
	{ .size = 0 },
};

const struct unit *unit_named(const struct unit *units, const char *text, size_t length)
{
	for (; units->size; units++)
		if (strlen(units->name) == length && !memcmp(units->name, text, length))
			return units;
	return NULL;
}

const struct unit *unit_to_show(const struct unit *units, double amount)
{
	const struct unit *best = units;

	/* 1023.9 KiB would be displayed as 1024 KiB, so the next unit starts where rounding reaches it. */
	for (; units->size; units++)
		if (amount >=
		    (double)units->shown_from * (units->shown_from == units->size ? 0.9995 : 1))
			best = units;
	return best;
}
