/* Units of durations and of sizes, for all who read or show them: options (which take those from `us`
 * to `h`, whole numbers with one unit), switches of the command (`1m30s`, `1.5h`), and whatever is
 * printed for people (`1.5 MiB`). */
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
	char name[4];        /* as it is typed behind a number; "" is no unit at all */
	char shown[4];       /* as people are shown it */
	uint64_t size;       /* in nanoseconds or bytes */
	uint64_t shown_from; /* less than this is shown in a smaller unit */
	bool option;         /* options take it */
};

/* The smallest first, up to a row without a size. */
extern const struct unit duration_units[], size_units[];

/* The row of UNITS whose name are the LENGTH bytes of TEXT, or NULL. Async-signal-safe. */
const struct unit *unit_named(const struct unit *units, const char *text, size_t length);

/* The largest row of UNITS that AMOUNT, or what it is rounded to, is shown in. */
const struct unit *unit_to_show(const struct unit *units, double amount);

#endif
