/* Content of an OTLP profiles message. */
#ifndef PROFILE_OTLP_OTLP_MESSAGE_H
#define PROFILE_OTLP_OTLP_MESSAGE_H

#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"

struct otlp_attribute {
	const char *key;
	const char *text; /* NULL: the value is `number` */
	int64_t number;
};

/* Size of an ID. The last two bytes differ for each profile of a message. */
#define OTLP_ID_SIZE 16

struct otlp_message {
	const struct profile *profile;
	const struct libraries *libraries;     /* libraries of its code */
	const struct otlp_attribute *resource; /* attributes of the process */
	size_t resource_count;
	uint32_t from, to;        /* indexes in profile->samples; `to` is excluded */
	int64_t start_ns, end_ns; /* since 1970 */
	uint8_t id[OTLP_ID_SIZE]; /* unique for each message */
};

#endif
