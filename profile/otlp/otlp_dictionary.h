/* A message of OTLP's profiles as it is written: the tables of what its samples name by number. An entry is
 * kept as it is encoded, so none is there twice. Number 0 of each table stands for none; entries count from 1, as
 * they do in the message behind that. */
#ifndef PROFILE_OTLP_OTLP_DICTIONARY_H
#define PROFILE_OTLP_OTLP_DICTIONARY_H

#include "core/buf.h"
#include "profile/basics/intern.h"
#include "profile/otlp/otlp_message.h"

/* The fields of ProfilesDictionary. */
enum otlp_table {
	OTLP_MAPPINGS = 1,
	OTLP_LOCATIONS = 2,
	OTLP_FUNCTIONS = 3,
	OTLP_LINKS = 4,
	OTLP_STRINGS = 5,
	OTLP_ATTRIBUTES = 6,
	OTLP_STACKS = 7,
	OTLP_TABLES
};

struct otlp {
	const struct otlp_message *message;
	struct intern tables[OTLP_TABLES];
	uint32_t *
		locations; /* by number of a frame in the profile, or of none; 0: not asked for yet */
	int err;           /* the first, as -errno: no need to ask before the end */
};

void otlp_init(struct otlp *out, const struct otlp_message *message);
int otlp_close(struct otlp *out);

/* Take in the result of a step. */
void otlp_set_error(struct otlp *out, int err);

/* Numbers in the tables. */
int64_t otlp_add_string(struct otlp *out, const char *text);
int64_t otlp_attribute(struct otlp *out, const char *key, const char *text, int64_t number);
int64_t otlp_add_link(struct otlp *out, const uint8_t trace_id[16], const uint8_t span_id[8]);
int64_t otlp_add_stack(struct otlp *out, uint32_t stack);

/* Put an AnyValue of TEXT, or where that is NULL of NUMBER, behind TO, as its field 2. */
void otlp_append_any_value(struct otlp *out, struct buf *to, const char *text, int64_t number);

/* The dictionary of all that was asked for. */
void otlp_append_dictionary(struct otlp *out, struct buf *to);

#endif
