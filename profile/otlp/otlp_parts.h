/* Parts of OTLP profiles messages, for the writers of messages and of files. Errors go to
 * otlp_set_error(). */
#ifndef PROFILE_OTLP_OTLP_PARTS_H
#define PROFILE_OTLP_OTLP_PARTS_H

#include "profile/aggregate/columns.h"
#include "profile/otlp/otlp_dictionary.h"

/* Append the message's resource to TO, a ResourceProfiles; this writer as the scope to TO, a
 * ScopeProfiles. */
void otlp_append_resource(struct otlp *out, struct buf *to);
void otlp_append_scope(struct otlp *out, struct buf *to);

/* Append a ValueType to TO as FIELD. */
void otlp_append_value_type(struct otlp *out, struct buf *to, unsigned field, const char *type,
			    const char *unit);

/* Append thread ID and name of S, if known, its wait, and the labels of its context as attributes to SAMPLE,
 * and then the link to the span. */
void otlp_append_sample_attributes(struct otlp *out, struct buf *sample, const struct sample *s);

/* Whether COLUMN is written. The number of samples is not written next to the time: it follows from
 * time and period. */
bool otlp_column_is_wanted(const struct columns *columns, const struct column *column);

#endif
