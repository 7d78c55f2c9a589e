/* What a message of OTLP's profiles is made of. */
#ifndef PROFILE_OTLP_OTLP_MESSAGE_H
#define PROFILE_OTLP_OTLP_MESSAGE_H

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

struct otlp_attribute {
	const char *key;
	const char *text; /* NULL: the number */
	int64_t number;
};

/* Of an id: the last two bytes of each profile's are its own. */
#define OTLP_ID_SIZE 16

struct otlp_message {
	const struct profile *profile;
	const struct libraries *libraries;     /* that its code was in */
	const struct otlp_attribute *resource; /* whom it is of */
	size_t resource_count;
	uint32_t from, to;        /* of profile->samples, TO itself not */
	int64_t start_ns, end_ns; /* since 1970 */
	uint8_t id[OTLP_ID_SIZE]; /* differs from any other message's */
};

#endif
