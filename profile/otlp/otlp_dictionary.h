/* Writer of one OTLP profiles message: the dictionary, whose tables samples refer to by index.
 * Entries are interned in encoded form, so none is there twice. Index 0 of each table is the zero
 * value, so the ID of an interned entry is its index in the message. One thread uses a writer. */
#ifndef PROFILE_OTLP_OTLP_DICTIONARY_H
#define PROFILE_OTLP_OTLP_DICTIONARY_H

#include "core/buf.h"
#include "profile/basics/intern.h"
#include "profile/otlp/otlp_message.h"

/* Field numbers of ProfilesDictionary. */
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
	uint32_t *locations; /* location by frame ID, [0] for no stack; 0: not added yet */
	int err; /* first error, as -errno; otlp_close() returns it, so steps need not check it */
};

/* Start a writer for MESSAGE, which must outlive it. */
void otlp_init(struct otlp *out, const struct otlp_message *message);

/* Release the tables. Returns 0, or the first error as -errno. */
int otlp_close(struct otlp *out);

/* Store ERR, the result of a step, if it is the first error. */
void otlp_set_error(struct otlp *out, int err);

/* Add an entry if it is new. Return its index. An attribute's value is TEXT, or NUMBER if TEXT is
 * NULL. */
int64_t otlp_add_string(struct otlp *out, const char *text);
int64_t otlp_add_attribute(struct otlp *out, const char *key, const char *text, int64_t number);
int64_t otlp_add_link(struct otlp *out, const uint8_t trace_id[16], const uint8_t span_id[8]);
int64_t otlp_add_stack(struct otlp *out, uint32_t stack);

/* Append VALUE to TO as FIELD; 0 is omitted. */
void otlp_append_int(struct otlp *out, struct buf *to, unsigned field, int64_t value);

/* Append an AnyValue to TO as field 2: TEXT, or NUMBER if TEXT is NULL. */
void otlp_append_any_value(struct otlp *out, struct buf *to, const char *text, int64_t number);

/* Append all tables to TO, a ProfilesDictionary. */
void otlp_append_dictionary(struct otlp *out, struct buf *to);

#endif
