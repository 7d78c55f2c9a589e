/* Units of durations and sizes, for reading and for display.
 *
 * Options take whole numbers with one unit, `us` to `h`. Switches of the command also take `1m30s` and `1.5h`.
 * Output for people looks like `1.5 MiB`. */
#ifndef CORE_UNITS_H
#define CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US(n)      ((n)*1000ull)
#define MS(n)      ((n)*1000000ull)
#define SECONDS(n) ((n)*1000000000ull)
#define MINUTES(n) ((n)*SECONDS(60))
#define HOURS(n)   ((n)*SECONDS(3600))
#define DAYS(n)    ((n)*HOURS(24))
#define KIB(n)     ((uint64_t)(n) << 10)
#define MIB(n)     ((uint64_t)(n) << 20)
#define GIB(n)     ((uint64_t)(n) << 30)
#define TIB(n)     ((uint64_t)(n) << 40)

struct unit {
	char name[4];        /* as typed after a number; "": no unit */
	char shown[4];       /* as displayed */
	uint64_t size;       /* in nanoseconds or bytes */
	uint64_t shown_from; /* smaller amounts are displayed in a smaller unit */
	bool option;         /* allowed in options */
};

/* Ascending, up to a row without a size. */
extern const struct unit duration_units[], size_units[];

/* Return the row of UNITS whose name is TEXT of LENGTH bytes, or NULL. Async-signal-safe. */
const struct unit *unit_named(const struct unit *units, const char *text, size_t length);

/* Return the unit to display AMOUNT in: the largest whose limit the rounded amount reaches. */
const struct unit *unit_to_show(const struct unit *units, double amount);

#endif
