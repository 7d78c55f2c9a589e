#ifndef UPLOAD_REPORTERS_REPORTER_TABLE_H
#define UPLOAD_REPORTERS_REPORTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct reporter;

/* One kind of reporter, and when the settings choose it. */
struct reporter_row {
	const char *name; /* for messages, before the reporter is open */
	bool (*is_wanted)(const struct config *config);
	/* Returns 0 and sets *OUT (release with its close), or -errno after a line in the log. */
	int (*open)(struct reporter **out, const struct config *config);
	const char *remedy; /* what its user does when the destination refuses a report */
};

/* In the order in which the log names them; constant. */
extern const struct reporter_row reporter_table[];
extern const size_t reporter_table_count;

#endif
