/* Fields of an uploaded report's name:
 * "{prefix}profile_{group}_{machine}_{pid}_{time}-{unique}.zip". */
#ifndef DECODER_BUCKET_OBJECT_NAME_H
#define DECODER_BUCKET_OBJECT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/bucket/bucket_query.h"

struct object_name {
	/* All before the time, which is equal in all reports of a process. */
	const char *process;
	size_t process_length;

	const char *group;
	size_t group_length;

	/* ID of an instance or ARN of a task, with "-" for "/" and "_"; empty if unknown. */
	const char *machine;
	size_t machine_length;

	int64_t seconds; /* since 1970: the end of the report, rounded down */
};

/* Parse KEY, with any prefix. OUT points into KEY. The unique part may be missing.
 * Returns false if KEY has another form. */
bool object_name_parse(struct object_name *out, const char *key);

/* Whether KEY has the group and machine that FILTER requires. A key of another form has neither. */
bool object_name_matches(const char *key, const struct upload_filter *filter);

#endif
