/* Values inside events and constants, found by the names of their fields. */
#ifndef PROFILE_JFR_JFR_VALUE_H
#define PROFILE_JFR_JFR_VALUE_H

#include "core/buf.h"
#include "profile/jfr/jfr_cursor.h"
#include "profile/jfr/jfr_parsed.h"

/* A value: a struct or a primitive of TYPE at AT. */
struct jfr_value {
	const struct jfr_type *type;
	const uint8_t *at, *end;
};

/* Field NAME of VALUE (or of the event), constants resolved. False where it is missing, NULL or
 * damaged. An array yields its first byte, the count: see jfr_array(). */
bool jfr_value_get_field(const struct jfr_chunk *chunk, const struct jfr_value *value,
			 const char *name, struct jfr_value *out);
bool jfr_event_get_field(const struct jfr_chunk *chunk, const struct jfr_event *event,
			 const char *name, struct jfr_value *out);

/* The constant KEY of TYPE. */
bool jfr_constant(const struct jfr_chunk *chunk, const struct jfr_type *type, uint64_t key,
		  struct jfr_value *out);

/* An integer; 0 where VALUE is none. */
int64_t jfr_value_integer(const struct jfr_value *value);

/* Append a string, or the string that is VALUE's first field, as UTF-8. False where it is null or
 * none. */
bool jfr_value_append_string(const struct jfr_chunk *chunk, const struct jfr_value *value,
			     struct buf *out);

/* Pass over a value of TYPE, or of FIELD. */
void jfr_skip_value(struct cursor *c, const struct jfr_type *type);
void jfr_skip_field(struct cursor *c, const struct jfr_field *field);

/* The osThreadId of the thread in FIELD ("eventThread"); false where there is none. */
bool jfr_event_thread_id(const struct jfr_chunk *chunk, const struct jfr_event *event,
			 const char *field, int64_t *tid);

#endif
