/* Values in events and constants, accessed by field name. */
#ifndef PROFILE_JFR_JFR_VALUE_H
#define PROFILE_JFR_JFR_VALUE_H

#include "core/buf.h"
#include "profile/jfr/jfr_cursor.h"
#include "profile/jfr/jfr_parsed.h"

/* A struct or primitive of TYPE at AT; END is the end of the event or chunk. */
struct jfr_value {
	const struct jfr_type *type;
	const uint8_t *at, *end;
};

/* Get field NAME of VALUE or EVENT; a key is replaced by its constant. Returns false if the field
 * is missing or damaged, or its constant is missing. For an array, *OUT points to the count, a
 * compressed integer, which the elements follow. */
bool jfr_value_get_field(const struct jfr_chunk *chunk, const struct jfr_value *value,
			 const char *name, struct jfr_value *out);
bool jfr_event_get_field(const struct jfr_chunk *chunk, const struct jfr_event *event,
			 const char *name, struct jfr_value *out);

/* Get the constant KEY of TYPE, which may be NULL. Returns false if there is none. */
bool jfr_constant_get(const struct jfr_chunk *chunk, const struct jfr_type *type, uint64_t key,
		      struct jfr_value *out);

/* Returns VALUE as an integer; 0 if it is not one. */
int64_t jfr_value_integer(const struct jfr_value *value);

/* Returns the integer in field NAME of EVENT; 0 if the field is missing or not an integer. */
uint64_t jfr_event_get_integer(const struct jfr_chunk *chunk, const struct jfr_event *event,
			       const char *name);

/* Append VALUE, a string or a struct whose first field is a string, to OUT as UTF-8. Returns false
 * if it is null or not a string; OUT may then have a part of it. */
bool jfr_value_append_string(const struct jfr_chunk *chunk, const struct jfr_value *value,
			     struct buf *out);

/* Skip a value of TYPE, or of FIELD. */
void jfr_skip_value(struct cursor *c, const struct jfr_type *type);
void jfr_skip_field(struct cursor *c, const struct jfr_field *field);

/* Get the osThreadId of the thread in FIELD ("eventThread"). Returns false if there is none. */
bool jfr_event_thread_id(const struct jfr_chunk *chunk, const struct jfr_event *event,
			 const char *field, int64_t *tid);

#endif
