/* Parts of OTLP profiles messages, for the writers of messages and of files. Errors go to
 * otlp_set_error(). */
#ifndef PROFILE_OTLP_OTLP_PARTS_H
#define PROFILE_OTLP_OTLP_PARTS_H

#include "profile/aggregate/columns.h"
#include "profile/otlp/otlp_dictionary.h"

/* Append the message's resource to TO, a ResourceProfiles. */
void otlp_append_resource(struct otlp *out, struct buf *to);

/* Append this writer, as the instrumentation scope, to TO, a ScopeProfiles. */
void otlp_append_scope(struct otlp *out, struct buf *to);

/* Append a ValueType to TO as FIELD. */
void otlp_append_value_type(struct otlp *out, struct buf *to, unsigned field, const char *type,
			    const char *unit);

/* Append to SAMPLE the attributes of S: the thread's ID and name, if known, the wait, and the labels of
 * the context. Then append the link to the span, if the context has one. */
void otlp_append_sample_attributes(struct otlp *out, struct buf *sample, const struct sample *s);

/* Whether COLUMN is written. If the time is written, the number of samples is not: it follows from the
 * time and the period. */
bool otlp_column_is_wanted(const struct columns *columns, const struct column *column);

#endif
