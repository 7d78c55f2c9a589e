/* What the name of an uploaded report tells:
 * "{prefix}profile_{group}_{machine}_{pid}_{time}-{unique}.zip". */
#ifndef DECODER_BUCKET_OBJECT_NAME_H
#define DECODER_BUCKET_OBJECT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/bucket/bucket_query.h"

struct object_name {
	/* All but time and what follows: the same in all reports of a process. */
	const char *process;
	size_t process_length;

	const char *group;
	size_t group_length;

	/* An instance's id or a task's ARN, whose "/" and "_" are "-"; empty where it is not known. */
	const char *machine;
	size_t machine_length;

	int64_t seconds; /* since 1970: when the report ended, without its fraction */
};

/* Take KEY apart, whose text OUT then points into; whatever prefix may be in front. The unique part may be
 * missing. False where KEY is not so named. */
bool object_name_parse(struct object_name *out, const char *key);

/* Whether KEY is of the group and the machine that PICK asks for. What does not tell them is of none. */
bool object_name_matches(const char *key, const struct pick *pick);

#endif
