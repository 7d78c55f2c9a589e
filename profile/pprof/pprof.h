/* Writer of one profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto).
 * Messages are gzipped one at a time. They refer by number to tables of strings, mappings,
 * functions and locations. One thread uses a writer. */
#ifndef PROFILE_PPROF_PPROF_H
#define PROFILE_PPROF_PPROF_H

#include <stdint.h>
#include <stdio.h>

#include "core/buf.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"
#include "profile/basics/intern.h"
#include "profile/encode/gzip.h"

/* Field numbers of the message Profile of profile.proto. */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NS = 9,
	PPROF_DURATION_NS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,
};

struct pprof {
	const struct profile *profile;     /* names, frames and stacks; owned by the caller */
	const struct libraries *libraries; /* libraries of its code; owned by the caller */
	struct gzip *gzip;
	struct intern strings;   /* ID - 1 is the index; index 0 is "" */
	struct intern mappings;  /* struct mapping_key of pprof_locations.c */
	struct intern functions; /* struct function_key of pprof_locations.c */
	struct intern locations; /* frame IDs */
	char program[256];       /* name of the program if no frame is in its file */
	bool selects_labels;     /* write only selected labels: see pprof_select_labels() */
	struct intern label_keys;
	uint32_t *label_value_counts; /* distinct values by label_keys' ID - 1 */
	uint32_t depth_max;           /* innermost locations to write per stack; 0: all */
	struct buf message;           /* message under construction */
	struct buf inner;             /* scratch: a part of the message */
	int err; /* first error, as -errno; pprof_close() returns it, so steps need not check it */
};

/* Start to write to FILE or, if it is NULL, to append to BUF. Returns 0 or -errno; call pprof_close()
 * in both cases. */
int pprof_open(struct pprof *out, FILE *file, struct buf *buf, const struct profile *profile,
	       const struct libraries *libraries);

/* Write the end of the gzip stream and release OUT's memory. Returns 0, or the first error as
 * -errno. */
int pprof_close(struct pprof *out);

/* Store ERR, the result of a step, if it is the first error. */
void pprof_set_error(struct pprof *out, int err);

/* Append VALUE as FIELD to MESSAGE; 0 is omitted. */
void pprof_append_int(struct pprof *out, struct buf *message, unsigned field, int64_t value);

/* Returns the index of TEXT in the string table. */
int64_t pprof_add_string(struct pprof *out, const char *text);

/* Write out->message, which is then empty, or NUMBER, as FIELD of the profile. */
void pprof_write_message(struct pprof *out, enum pprof_field field);
void pprof_write_number(struct pprof *out, enum pprof_field field, int64_t number);

/* Write the string table. No string can be added afterwards. */
void pprof_write_strings(struct pprof *out);

/* Make the program's file the first mapping, as readers expect. If no frame is in that file, its
 * name comes from the recording's labels, or else from a mapped file. */
void pprof_add_program_mapping(struct pprof *out);

/* Returns the ID of the location for FRAME and the frames that it is inlined into. FRAME 0: a
 * sample without a stack. */
uint64_t pprof_add_location(struct pprof *out, uint32_t frame);

/* Write the added locations, and their mappings and functions. */
void pprof_write_locations(struct pprof *out);

#endif
